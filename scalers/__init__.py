"""One file per trigger type; they import only the SDK (`keda_py.sdk`), `keda_py.cloud` and the pure core."""
