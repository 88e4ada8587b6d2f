"""HTTP handlers, models, metrics, workers, shutdown."""
