// Package rmsnorm is the truth of rmsnorm: rows divided by their root mean square, a residual added first or
// not.
package rmsnorm

import "triad/internal/truth/rownorm"

var _ = rownorm.Register("rmsnorm", rownorm.Operator{Residual: true, Permits: []string{"fp32", "stored"}})
