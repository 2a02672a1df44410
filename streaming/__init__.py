"""What leaves as lines and files: rollout exports, artifacts, bundles."""
