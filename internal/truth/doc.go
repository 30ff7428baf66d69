// Package truth computes what a right implementation gives, in fp64, and how far its contract lets it be off.
// Each operator is a package of its own, internal/catalog/<op>, that registers its truth, its relations and
// its complex forward here; internal/truth/all links all of them. What they share is here: contracts,
// requests, rows, sums, sampling, relations, the complex step. It knows no operator by name.
package truth
