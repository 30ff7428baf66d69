package tensor

// Index returns the multi-index of a row-major position in a shape.
func Index(position int64, shape []int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] > 0 {
			out[i] = position % shape[i]
			position /= shape[i]
		}
	}
	return out
}
