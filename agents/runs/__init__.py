"""Run folders: configuration, checkpoints, tracking, model files. No algorithms."""
