"""One file per trigger type; they import only the SDK (`keda_py.sdk.scaler`) and the pure core."""
