"""The generated parts of the docs, one module per subject; `docs.generate` puts them into pages."""
