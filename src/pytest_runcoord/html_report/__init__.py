"""The report in one HTML file: what is collected of each variant, the page, and the hooks around a run."""
