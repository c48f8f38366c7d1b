"""Facts: what a story says about its world, read scene by scene, with the words that say so and who learns of it."""
