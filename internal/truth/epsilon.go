package truth

import (
	"fmt"
)

// EpsOf returns the attribute eps of a case.
func EpsOf(k *Request) (float64, error) {
	eps, ok := k.Attrs.Lookup("eps")
	if !ok {
		return 0, fmt.Errorf("attribute eps is missing")
	}
	return eps.Number, nil
}
