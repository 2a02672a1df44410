"""Exports over HTTP for the machine of whoever trains: resumed, checked and written as a whole."""
