package catalog

import (
	"fmt"
	"slices"

	"triad/internal/tensor"
)

// rank gives the input called name, which must have as many dims.
func (k *call) rank(name string, dims int) (tensor.Tensor, error) {
	t, err := k.tensor(name)
	if err == nil && len(t.Shape) != dims {
		err = fmt.Errorf("%s has shape %v: want %d dims", name, t.Shape, dims)
	}
	return t, err
}

// shaped says whether an input has a shape.
func (k *call) shaped(name string, shape ...int64) error {
	t, err := k.tensor(name)
	if err == nil && !slices.Equal(t.Shape, shape) {
		err = fmt.Errorf("%s has shape %v: want %v", name, t.Shape, shape)
	}
	return err
}

// firstError is the first of several checks that fails.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
