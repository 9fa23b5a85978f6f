"""Argo CD's Applications: which counts they would put back, and the lines that make them ignore a count for a while."""
