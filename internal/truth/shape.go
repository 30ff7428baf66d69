package truth

import (
	"fmt"
	"slices"

	"triad/internal/tensor"
)

// Rank returns the input called name, and an error unless it has that many dims.
func (k *Request) Rank(name string, dims int) (tensor.Tensor, error) {
	t, err := k.Tensor(name)
	if err == nil && len(t.Shape) != dims {
		err = fmt.Errorf("%s has shape %v: want %d dims", name, t.Shape, dims)
	}
	return t, err
}

// Shaped returns an error unless the input has the shape.
func (k *Request) Shaped(name string, shape ...int64) error {
	t, err := k.Tensor(name)
	if err == nil && !slices.Equal(t.Shape, shape) {
		err = fmt.Errorf("%s has shape %v: want %v", name, t.Shape, shape)
	}
	return err
}

// FirstError returns the first of several checks that fails.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
