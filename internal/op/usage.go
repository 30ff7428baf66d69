package op

import "fmt"

// UsageError is an invalid request: one sentence with the allowed values. The command line exits with code 2.
type UsageError struct{ Message string }

// Error returns the sentence.
func (e *UsageError) Error() string { return e.Message }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }
