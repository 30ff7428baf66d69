package machine

import "testing"

// TestSpreadOver: as many Python processes judge on a GPU as the cores, the memory and that of the GPU allow;
// where few fit, none are added to the usual ones.
func TestSpreadOver(t *testing.T) {
	for _, c := range []struct {
		cores        int
		host, onCard int64 // GiB
		want         int
	}{
		{16, 128, 141, 14},
		{64, 512, 80, 14},
		{8, 128, 80, 6},
		{16, 32, 80, 6},
		{16, 128, 24, 8},
		{4, 128, 80, 0},
		{16, 16, 80, 0},
		{16, 128, 8, 0},
	} {
		if got := spreadOver(c.cores, c.host<<30, c.onCard<<30); got != c.want {
			t.Errorf("%d cores, %d GiB, %d GiB on the card: %d processes, want %d", c.cores, c.host,
				c.onCard, got, c.want)
		}
	}
}
