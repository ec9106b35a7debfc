"""Known datasets: what they are, where they are, and how they are downloaded."""
