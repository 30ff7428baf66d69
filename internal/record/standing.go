package record

import (
	"time"

	"triad/internal/op"
)

// Standing counts the newest runs of an implementation of an operator that ended with one status.
type Standing struct {
	Op, Impl string
	Status   op.Status
	Runs     int
	Newest   time.Time // when the last of them began
}
