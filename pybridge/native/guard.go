package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"triad/internal/op"
)

// provoked is the name of the function whose next call panics; nil: none.
var provoked atomic.Pointer[string]

// Provoke makes the next call of the exported function called name panic. With it the tests prove that no
// panic reaches Python.
func Provoke(name string) (err error) {
	defer guard("Provoke", &err)()
	enter("Provoke")
	provoked.Store(&name)
	return nil
}

// guard begins an exported function: `defer guard("Name", &err)()`. A panic until its end becomes an error,
// and every error gets its kind.
func guard(name string, err *error) func() {
	return func() {
		if p := recover(); p != nil {
			*err = fmt.Errorf("%s: panic: %v\n%s", name, p, debug.Stack())
		}
		*err = kinded(*err)
	}
}

// enter is the first statement after guard. Tests provoke their panic in it.
func enter(name string) {
	if p := provoked.Load(); p != nil && *p == name && provoked.CompareAndSwap(p, nil) {
		panic("provoked in " + name)
	}
}

func kinded(err error) error {
	var u *op.UsageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &u):
		return fmt.Errorf("usage: %w", err)
	default:
		return fmt.Errorf("internal: %w", err)
	}
}

func usagef(format string, a ...any) error { return &op.UsageError{Message: fmt.Sprintf(format, a...)} }

// asJSON returns the text of a result.
func asJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
