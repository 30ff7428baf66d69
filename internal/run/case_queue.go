package run

import "fmt"

// take returns the next case of a queue that no other run has taken; ok is false if none is left.
func take[W interface{ named() (string, string) }](x *execution, queue *[]W) (w W, ok bool, err error) {
	for len(*queue) > 0 {
		w, *queue = (*queue)[0], (*queue)[1:]
		mine, err := x.claims(w.named())
		if err != nil || mine {
			return w, mine, err
		}
	}
	return w, false, nil
}

// prepareMine prepares a case if this run takes it.
func (x *execution) prepareMine(w work) (c *prepared, mine bool, err error) {
	if mine, err = x.claims(w.named()); err == nil && mine {
		c, err = x.prepareMissing(w)
	}
	return c, mine, err
}

// named returns what a case is claimed by.
func (w work) named() (operator, key string) { return w.Op, w.Key() }

// claims reports whether this run takes a case.
func (x *execution) claims(operator, key string) (bool, error) {
	if x.request.Claim == nil {
		return true, nil
	}
	mine, err := x.request.Claim(operator, key)
	if err != nil {
		return false, fmt.Errorf("take a case of the plan: %w", err)
	}
	return mine, nil
}
