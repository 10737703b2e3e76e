"""Clusterings by loops and enumeration: slow and obvious."""

from itertools import combinations

import numpy as np


def cost(x, w, centers, labels):
    """Return Σ w Σ_seen (x − c)²."""
    return float(np.sum(w * np.nansum((x - centers[labels]) ** 2, axis=1)))


def squares(x, centers):
    return np.nansum((x[:, None] - centers) ** 2, axis=2)


def lloyd(x, w, centers, steps):
    """Lloyd's steps entry by entry; entries that no row has seen stay."""
    for _ in range(steps):
        labels = squares(x, centers).argmin(axis=1)
        new = centers.copy()
        for k in range(len(centers)):
            for d in range(x.shape[1]):
                some = (labels == k) & ~np.isnan(x[:, d]) & (w > 0)
                if some.any():
                    new[k, d] = np.average(x[some, d], weights=w[some])
        if np.array_equal(new, centers):
            break
        centers = new
    return centers, squares(x, centers).argmin(axis=1)


def partitions(n, k):
    """Return all ways to give n rows to k groups, none empty, as restricted growth strings."""

    def grow(labels, used):
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        for j in range(min(used + 1, k)):
            yield from grow([*labels, j], max(used, j + 1))

    yield from grow([0], 1)


def best_partition(x, w, k):
    """Return the least J of all partitions."""
    return min(cost(x, w, means(x, w, z, k), z) for z in partitions(len(x), k))


def means(x, w, labels, k):
    return np.stack([np.average(x[labels == j], axis=0, weights=w[labels == j]) for j in range(k)])


def medoid_cost(distances, w, medoids):
    return float(w @ distances[:, list(medoids)].min(axis=1))


def best_medoids(distances, w, k):
    """Return the least J over all sets of k rows."""
    return min(medoid_cost(distances, w, m) for m in combinations(range(len(distances)), k))


def best_swap(distances, w, medoids):
    """Return the least J after one swap of a medoid for another row."""
    others = [c for c in range(len(distances)) if c not in set(medoids)]
    return min(
        medoid_cost(distances, w, [*medoids[:i], c, *medoids[i + 1 :]])
        for i in range(len(medoids))
        for c in others
    )
