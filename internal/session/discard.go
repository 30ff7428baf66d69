package session

import (
	"triad/internal/record"
)

// Discard is the recorder of runs that are not recorded.
type Discard struct{}

func (Discard) Plan([]record.Item, record.Toolchain) error { return nil }

func (Discard) Done(record.Item) bool { return false }

func (Discard) Append(*record.Record) error { return nil }

func (Discard) AppendDifferences(d []record.Difference) error { return nil }
