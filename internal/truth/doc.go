// Package truth computes the results of a right implementation, in fp64, and the error bound of its contract.
// Each operator is a package of its own, internal/catalog/<op>, that registers its truth, its relations and
// its complex forward here; internal/truth/all links all of them. The shared parts are here: contracts,
// requests, rows, sums, sampling, relations, the complex step. The package knows no operator by name.
package truth
