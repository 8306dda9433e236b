"""The kinds of objects an MPIJob owns, a room each; rooms never import each other."""
