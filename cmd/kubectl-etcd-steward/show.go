package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// sight is what a command shows: text for people, and the same as data for scripts.
type sight struct {
	text func(io.Writer) error
	data any
	// ends is how the command ends once this is printed.
	ends error
	// isLine tells one of many: as JSON it takes one line.
	isLine bool
}

// show prints what a command shows, once or again and again.
type show func(sight) error

// showing makes a command one that shows what it reads from an API server, in the form that -o asks for.
func (p program) showing(
	c *cobra.Command, look func(ctx context.Context, s *session, args []string, show show) error,
) *cobra.Command {
	return p.printing(c, func(ctx context.Context, args []string, show show) error {
		s, err := p.connect(p.flags)
		if err != nil {
			return err
		}
		return look(ctx, s, args, show)
	})
}

// printing makes a command one that shows something, with or without an API server.
func (p program) printing(
	c *cobra.Command, do func(ctx context.Context, args []string, show show) error,
) *cobra.Command {
	format := "text"
	c.Flags().StringVarP(&format, "output", "o", format, "What is printed: text, json or yaml.")
	c.RunE = func(c *cobra.Command, args []string) error {
		show, err := showAs(format, p.out)
		if err != nil {
			return err
		}
		return do(c.Context(), args, show)
	}
	return c
}

// showAs is how a format prints.
func showAs(format string, out io.Writer) (show, error) {
	var write func(sight) error
	switch format {
	case "text":
		write = func(s sight) error { return s.text(out) }
	case "json":
		write = func(s sight) error {
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			if !s.isLine {
				encoder.SetIndent("", "  ")
			}
			return encoder.Encode(s.data)
		}
	case "yaml":
		first := true
		write = func(s sight) error {
			text, err := yaml.Marshal(s.data)
			if err == nil && !first {
				text = append([]byte("---\n"), text...)
			}
			if first = false; err == nil {
				_, err = out.Write(text)
			}
			return err
		}
	default:
		return nil, fmt.Errorf("--output is %q; it must be text, json or yaml", format)
	}
	return func(s sight) error {
		if err := write(s); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		return s.ends
	}, nil
}

// column is one column of a table: its head, and what it has of a row.
type column[T any] struct {
	head string
	cell func(T) string
}

// pick is the columns with these heads, in this order.
func pick[T any](columns []column[T], heads ...string) []column[T] {
	picked := make([]column[T], 0, len(heads))
	for _, head := range heads {
		for _, c := range columns {
			if c.head == head {
				picked = append(picked, c)
			}
		}
	}
	return picked
}

// none stands where there is nothing, as kubectl has it.
const none = "<none>"

// printTable prints rows in columns, each line after an indent.
func printTable[T any](out io.Writer, indent string, rows []T, columns []column[T]) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, indent+none)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.head
	}
	fmt.Fprintln(table, indent+strings.Join(cells, "\t"))
	for _, row := range rows {
		for i, c := range columns {
			cells[i] = cmp.Or(c.cell(row), none)
		}
		fmt.Fprintln(table, indent+strings.Join(cells, "\t"))
	}
	return table.Flush()
}
