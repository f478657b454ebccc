"""How moments and numbers are written on the admin's pages, a folder a language."""
