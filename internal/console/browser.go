package console

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"triad/internal/subprocess"
)

// opens is the time that a browser may take to be started.
const opens = 10 * time.Second

// OpenPage opens an address in the browser that BROWSER names, else in the desktop's. The browser runs in a
// session of its own, so that it does not end with triad. Without one, a note says so: the address was
// printed.
func (c *Console) OpenPage(ctx context.Context, address string) {
	browser := cmp.Or(c.Getenv("BROWSER"), "xdg-open")
	_, err := subprocess.Run(ctx, subprocess.Command{
		Path: "setsid", Args: []string{"--fork", browser, address}, Deadline: opens,
	})
	if err != nil {
		fmt.Fprintf(c.Err, "triad: --open: %s cannot be started: %v\n", browser, err)
	}
}
