"""Other packages that let an agent try again, and this project, run against each other; see README.md."""
