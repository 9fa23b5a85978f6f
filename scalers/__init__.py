"""One file per trigger type; they import only the SDK (`keda_py.scaler`) and the pure core."""
