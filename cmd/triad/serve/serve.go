// Package serve is the verb serve: the database as web pages.
package serve

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/operatorpage"
	"triad/internal/resultdiff"
	"triad/internal/serve"
	"triad/internal/session"
	"triad/results"
)

// usualPort is the default port of triad serve: with a fixed port old links stay valid.
const usualPort = 8423

// Options holds the flags of serve.
type Options struct {
	db    string
	port  int
	named bool // the user named the port
	open  bool
}

// New returns the command triad serve; run replaces what it does, nil: it serves.
func New(c *console.Console, run func(context.Context, *Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = func(ctx context.Context, o *Options) error { return serveUntilStopped(ctx, c, o) }
	}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "show what was recorded as pages, on this machine alone",
		Long: `serve shows the database as web pages: what is known of each operator and implementation,
sessions with the progress of one that runs, runs with why they are wrong and the command that
repeats each, comparisons, your own SQL, findings. It listens on 127.0.0.1 alone and only reads.
Open the address that it prints: it has a token, without which nothing is shown. The paths stay
the same, so that /run/ID can be sent to whoever has the database. Ctrl-C ends it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.named = cmd.Flags().Changed("port")
			return run(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&o.db, "db", "", console.DatabaseUsage)
	cmd.Flags().BoolVar(&o.open, "open", false, "open the address in a browser (BROWSER, else xdg-open)")
	cmd.Flags().
		IntVar(&o.port, "port", usualPort, "the port; 0: any that is free, as where the usual one is taken")
	return cmd
}

// serveUntilStopped answers until Ctrl-C.
func serveUntilStopped(ctx context.Context, c *console.Console, o *Options) error {
	if o.port < 0 || o.port > 65535 {
		return console.Usage("--port %d: want 0 to 65535", o.port)
	}
	store, err := c.ReadStore(ctx, o.db)
	if err != nil {
		return err
	}
	defer store.Close()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil && !o.named {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return console.Usage("--port %d: %w; --port 0 takes any that is free", o.port, err)
	}
	defer listener.Close()
	server, err := serve.New(store, listener, serve.Options{
		Findings: operatorpage.Findings(), Now: time.Now, Query: queries(store.Path()), Saved: c.SavedQueries,
		Since: func(text string) (time.Time, error) { return results.ParseTime("since ", text, time.Now()) },
		Side: func(ctx context.Context, name string) (resultdiff.Side, error) {
			selection, file, err := results.ParseSide(name, time.Now())
			if err != nil {
				return resultdiff.Side{}, err
			}
			if file != "" {
				return resultdiff.Side{}, console.Usage(
					"%q names a file: a page compares runs of its own database",
					name,
				)
			}
			return store.Side(ctx, name, selection)
		},
	})
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	c.AtOnce.Add(1) // nothing is left to finish
	fmt.Fprintf(c.Out, "%s shows %s until Ctrl-C.\n", server.Address(), store.Path())
	if o.open {
		c.OpenPage(ctx, server.Address())
	}
	if err := server.Serve(c.Stop, listener); err != nil {
		return session.Fail(session.ExitBad, err)
	}
	return nil
}
