package backend

import "testing"

type plain struct{ Backend }

type lanes struct{ Backend }

func (lanes) Lanes() int { return 3 }

type around struct{ Backend }

func (a around) Unwrap() Backend { return a.Backend }

// Capabilities of a backend beyond the port are found through its wrappers.
func TestAs(t *testing.T) {
	type spread interface{ Lanes() int }
	for name, c := range map[string]struct {
		b    Backend
		want bool
	}{"itself": {lanes{}, true}, "around it": {around{around{lanes{}}}, true}, "hidden": {
		plain{lanes{}},
		false,
	}, "nothing": {around{plain{}}, false}} {
		if found, ok := As[spread](c.b); ok != c.want || ok && found.Lanes() != 3 {
			t.Errorf("%s: %v, want %v", name, ok, c.want)
		}
	}
}
