"""An app of an installation under test: a skill that rewrites articles (`EXTRA_APPS`)."""
