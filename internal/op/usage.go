package op

import "fmt"

// UsageError is a request that cannot be meant: one sentence with what is allowed. The command line answers
// it with exit code 2.
type UsageError struct{ Message string }

// Error returns the sentence.
func (e *UsageError) Error() string { return e.Message }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }
