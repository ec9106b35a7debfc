"""The datasets known by name: where they come from, and loading them."""
