"""The model families that export_models.py can export, one file a family."""
