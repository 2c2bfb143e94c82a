"""The functions in C that generated programs use, written once for doubles; `of_type` makes those for floats."""

from __future__ import annotations

import re

ALWAYS = """\
static inline int64_t whole_larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t whole_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t whole_sign(int64_t a) { return (a > 0) - (a < 0); }
static inline int64_t whole_quotient(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? -a : a / b; }
static inline int64_t whole_remainder(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static inline int64_t whole_part(double x) { return x != x ? 0 : (int64_t)(x > 9e18 ? 9e18 : x < -9e18 ? -9e18 : x); }
static inline int64_t within(int64_t place, int64_t last) { return place < 0 ? 0 : place > last ? last : place; }
"""

OF_NUMBERS = {
    "larger": "static inline double larger(double a, double b) { return a > b || a != a ? a : b; }\n",
    "smaller": "static inline double smaller(double a, double b) { return a < b || a != a ? a : b; }\n",
    "sign_of": "static inline double sign_of(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }\n",
    "squared": "static inline double squared(double a) { return a * a; }\n",
    "whole_power": """\
static inline double whole_power(double a, int n) {
  double found = 1;
  for (; n > 0; n /= 2, a *= a) if (n % 2) found *= a;
  return found;
}
""",
    "precedes": "static inline bool precedes(double a, double b) { return a < b || (b != b && a == a); }\n",
    "factorize": """\
/* Cholesky's factor below the diagonal of a, zeros above it; not a number if a is not positive definite */
static void factorize(double *a, int n) {
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k) a[j*n+j] -= a[j*n+k] * a[j*n+k];
    if (!(a[j*n+j] > 0)) {
      for (int i = 0; i < n * n; ++i) a[i] = NAN;
      return;
    }
    a[j*n+j] = sqrt(a[j*n+j]);
    for (int i = j + 1; i < n; ++i) {
      double s = a[i*n+j];
      for (int k = 0; k < j; ++k) s -= a[i*n+k] * a[j*n+k];
      a[i*n+j] = s / a[j*n+j];
    }
    for (int i = 0; i < j; ++i) a[i*n+j] = 0;
  }
}
""",
    "decompose": """\
/* the triangles L and U in a, with the largest pivot of each column */
static void decompose(double *a, int32_t *pivots, int32_t *permutation, int m, int n) {
  for (int i = 0; i < m; ++i) permutation[i] = i;
  for (int j = 0; j < n && j < m; ++j) {
    int p = j;
    for (int i = j + 1; i < m; ++i) if (fabs(a[i*n+j]) > fabs(a[p*n+j])) p = i;
    pivots[j] = p;
    if (p != j) {
      int32_t other = permutation[j];
      permutation[j] = permutation[p], permutation[p] = other;
      for (int k = 0; k < n; ++k) { double t = a[j*n+k]; a[j*n+k] = a[p*n+k], a[p*n+k] = t; }
    }
    for (int i = j + 1; i < m; ++i) {
      if (a[j*n+j] != 0) a[i*n+j] /= a[j*n+j];
      for (int k = j + 1; k < n; ++k) a[i*n+k] -= a[i*n+j] * a[j*n+k];
    }
  }
}
""",
    "substitute": """\
/* solve a triangular system in place; r and c are the distances between rows and columns, of a and of x */
static void substitute(const double *a, int ar, int ac, double *x, int xr, int xc, int n, int columns, bool lower,
                       bool unit) {
  for (int step = 0; step < n; ++step) {
    int i = lower ? step : n - 1 - step;
    for (int k = lower ? 0 : i + 1; k < (lower ? i : n); ++k)
      for (int c = 0; c < columns; ++c) x[i*xr+c*xc] -= a[i*ar+k*ac] * x[k*xr+c*xc];
    if (!unit) for (int c = 0; c < columns; ++c) x[i*xr+c*xc] /= a[i*ar+i*ac];
  }
}
""",
    "diagonalize": """\
/* eigenvalues w, ascending, and eigenvectors v (columns) of the symmetric a, by rotations of Jacobi */
static void diagonalize(double *a, double *v, double *w, int n) {
  for (int i = 0; i < n * n; ++i) v[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (int i = 0; i < n * n; ++i) { all += a[i] * a[i]; if (i % (n + 1)) off += a[i] * a[i]; }
    if (!(off > 1e-34 * all)) break;
    for (int p = 0; p < n; ++p) for (int q = p + 1; q < n; ++q) {
      if (a[p*n+q] == 0) continue;
      double tau = (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q]);
      double t = (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau)), c = 1 / sqrt(1 + t * t), s = t * c;
      for (int k = 0; k < n; ++k) { double x = a[k*n+p], y = a[k*n+q]; a[k*n+p] = c*x - s*y, a[k*n+q] = s*x + c*y; }
      for (int k = 0; k < n; ++k) { double x = a[p*n+k], y = a[q*n+k]; a[p*n+k] = c*x - s*y, a[q*n+k] = s*x + c*y; }
      for (int k = 0; k < n; ++k) { double x = v[k*n+p], y = v[k*n+q]; v[k*n+p] = c*x - s*y, v[k*n+q] = s*x + c*y; }
    }
  }
  for (int i = 0; i < n; ++i) w[i] = a[i*n+i];
  for (int i = 0; i < n; ++i) {
    int best = i;
    for (int j = i + 1; j < n; ++j) if (w[j] < w[best]) best = j;
    double t = w[i]; w[i] = w[best], w[best] = t;
    for (int k = 0; k < n; ++k) { t = v[k*n+i]; v[k*n+i] = v[k*n+best], v[k*n+best] = t; }
  }
}
""",
}


def functions_used(code: str) -> str:
    """The functions of this library that a program calls, for doubles and floats."""
    found = "".join(line + "\n" for line in ALWAYS.splitlines() if _calls(code, line.split("(")[0].split()[-1]))
    for name, text in OF_NUMBERS.items():
        found += text if _calls(code, name) else ""
        found += in_floats(name, text) if _calls(code, f"{name}f") else ""
    return found


def in_floats(name: str, text: str) -> str:
    """A function for floats, whose name ends in f.

    >>> in_floats("squared", OF_NUMBERS["squared"])
    'static inline float squaredf(float a) { return a * a; }\\n'
    """
    text = re.sub(rf"\b({name}|sqrt|fabs)\(", r"\1f(", text)
    return text.replace("double", "float").replace("1e-34", "1e-15f")


def _calls(code: str, name: str) -> bool:
    return re.search(rf"\b{name}\(", code) is not None
