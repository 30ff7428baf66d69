package op

import "fmt"

// UsageError is an invalid request: one sentence with the allowed values. The command line exits with code 2.
type UsageError struct {
	Message string
	cause   error // what fmt.Errorf wrapped
}

// Error returns the sentence.
func (e *UsageError) Error() string { return e.Message }

// Unwrap returns what %w wrapped, nil where nothing was.
func (e *UsageError) Unwrap() error { return e.cause }

// Usagef returns a UsageError with a sentence that fmt.Errorf formats.
func Usagef(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &UsageError{Message: err.Error(), cause: err}
}
