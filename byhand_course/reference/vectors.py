"""Dot products as similarity scores.

Sizes: vectors of d features; n vectors stacked as the rows of an (n, d) array.
Source: Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, section 6.3;
used on worked page 3, where a score is the dot product of a query and a key.
"""

import numpy as np


def dot(a, b):
    """Multiply two vectors feature by feature and add up the products.

    Args:
        a, b: (d,) vectors.

    Returns:
        A number: large when a and b are long and point the same way, 0 at a right angle.
    """
    products = a * b  # (d,)
    return products.sum()


def cosine_similarity(a, b):
    """Compare the directions of two vectors, whatever their lengths.

    Args:
        a, b: (d,) vectors, neither of them all zeros.

    Returns:
        A number from -1 (opposite) through 0 (right angle) to 1 (same direction).
    """
    length_a = np.sqrt(dot(a, a))
    length_b = np.sqrt(dot(b, b))
    return dot(a, b) / (length_a * length_b)


def rank_by_similarity(query, vectors):
    """Order vectors by how closely each points the way the query does.

    Args:
        query: (d,) vector.
        vectors: (n, d), one vector a row.

    Returns:
        (n,) row indices, most similar first by cosine similarity; ties keep the order given.
    """
    similarities = np.array([cosine_similarity(query, vector) for vector in vectors])
    return np.argsort(-similarities, kind="stable")  # ascending sort, so the sign turns
