package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/internal/resultdiff"
	"triad/internal/serve"
	"triad/internal/session"
	"triad/results"
)

// usualPort is the default port of triad serve: with a fixed port old links stay valid.
const usualPort = 8423

func (a *app) serveCommand() *cobra.Command {
	var db string
	var port int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "show what was recorded as pages, on this machine alone",
		Long: `serve shows the database as web pages: sessions with the progress of one that runs, runs with
the command that repeats each, operators with their history, comparisons, findings. It listens on
127.0.0.1 alone and only reads. Open the address that it prints: it has a token, without which
nothing is shown. The paths stay the same, so that /run/ID can be sent to whoever has the database.
Ctrl-C ends it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), db, port, cmd.Flags().Changed("port"))
		},
	}
	cmd.Flags().StringVar(&db, "db", "", console.DatabaseUsage)
	cmd.Flags().
		IntVar(&port, "port", usualPort, "the port; 0: any that is free, as where the usual one is taken")
	return cmd
}

// serve answers until Ctrl-C.
func (a *app) serve(ctx context.Context, db string, port int, named bool) error {
	if port < 0 || port > 65535 {
		return console.Usage("--port %d: want 0 to 65535", port)
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil && !named {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return console.Usage("--port %d: %w; --port 0 takes any that is free", port, err)
	}
	defer listener.Close()
	server, err := serve.New(store, listener, serve.Options{
		Findings: operatorFindings(), Now: time.Now,
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
	fmt.Fprintf(a.Out, "%s shows %s until Ctrl-C.\n", server.Address(), store.Path())
	if err := server.Serve(a.Stop, listener); err != nil {
		return session.Fail(session.ExitBad, err)
	}
	return nil
}
