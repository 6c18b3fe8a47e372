package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/forecast"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/ahead"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Where what the operator will do ends.
const (
	endsSettled = "Settled" // the cluster is as its spec asks, or sleeps as it asks
	endsStopped = "Stopped" // it is not, and no time brings that
	endsOpen    = "Open"    // what follows cannot be told
)

// errStepsAhead and errNotSettled end `plan` after the page has said so.
var (
	errStepsAhead = errors.New("the operator will change something")
	errNotSettled = errors.New("the cluster does not come to be as its spec asks")
)

func (p program) planCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "plan CLUSTER", Short: "Show what the operator will do, step by step, to the end", Args: oneCluster,
		Example: "  kubectl etcd-steward plan demo\n  kubectl etcd-steward plan demo -f demo.yaml",
		Long: "Shows each step that the operator will take, by which rule and why, until the cluster is as its spec " +
			"asks, or what stops that. With --filename it shows what a changed manifest would bring; nothing is " +
			"stored. The exit code is 0 where there is nothing to do, and 3 where there is. It is 4 where the spec " +
			"is not reached, and 1 for an error.",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		told, err := s.foretell(ctx, args[0], manifest{file: file, in: c.InOrStdin()})
		if err != nil {
			return err
		}
		return show(sight{text: told.print, data: told, ends: told.outcome()})
	})
	c.Flags().StringVarP(&file, "filename", "f", "",
		"Manifest of the EtcdCluster as it would be, - for the standard input; empty: as it is.")
	return c
}

// foretold is what `plan` prints. With -o it is printed as it is.
type foretold struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Manifest  string       `json:"manifest,omitempty"`
	Operator  operatorView `json:"operator"`
	Notes     []string     `json:"notes,omitempty"`
	Steps     []toldStep   `json:"steps"`
	End       toldEnd      `json:"end"`
}

// toldStep is one step. What is waited for has no event.
type toldStep struct {
	What   string `json:"what"`
	Rule   string `json:"rule"`
	Why    string `json:"why"`
	Change string `json:"change,omitempty"`
	Member string `json:"member,omitempty"`
	Event  string `json:"event,omitempty"`
	Wait   string `json:"wait,omitempty"`
}

type toldEnd struct {
	State   string `json:"state"`
	Rule    string `json:"rule,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// foretell reads a cluster as it is, or would be, and tells what follows.
func (s *session) foretell(ctx context.Context, name string, m manifest) (foretold, error) {
	c, err := s.asked(ctx, name, m)
	if err != nil {
		return foretold{}, err
	}
	f, err := forecast.Of(ctx, s.WithWatch, c, s.now)
	if err != nil {
		return foretold{}, explain(err, s.namespace)
	}
	told := foretold{Name: c.Name, Namespace: c.Namespace, Manifest: m.file, Operator: s.operator(ctx, c),
		Steps: []toldStep{}, End: endOf(f)}
	told.Notes = caveats(c, told.Operator)
	if f.Unread != "" {
		told.Notes = append(told.Notes, f.Unread)
	}
	open, err := s.openRestores(ctx, c.Name)
	if err != nil {
		return foretold{}, err
	}
	for _, r := range open {
		if !isApproved(&r) {
			told.Notes = append(told.Notes, standingOf(&r, nil, false))
		}
	}
	if now := c.Status.NextStep; m.file == "" && isBlocked(now) && !unseen(c) && len(f.Steps) > 0 &&
		f.Steps[0].Rule == now.Rule {
		told.Notes = append(told.Notes, "The first step cannot be taken yet: "+now.Message)
	}
	for _, step := range f.Steps {
		told.Steps = append(told.Steps, stepOf(step))
	}
	if now := c.Status.NextStep; told.End.Reason == facts.ReasonAlarm && len(f.Steps) == 0 && m.file == "" &&
		now != nil && !unseen(c) {
		told.End.Message = now.Message // the operator also knows what history takes
	}
	return told, nil
}

// caveats says what keeps the operator from doing what is foretold, and what the page does not know.
func caveats(c *v1alpha1.EtcdCluster, o operatorView) []string {
	var notes []string
	switch o.State {
	case operatorRuns:
	case operatorGone:
		notes = append(notes, "Nothing of this happens before the operator runs again. "+o.Message)
	default:
		notes = append(notes, o.Message)
	}
	if c.Spec.IsDryRun() {
		notes = append(notes, "spec.mode is DryRun: the operator does nothing of this before you set it to Enforce.")
	}
	return notes
}

func stepOf(s ahead.Step) toldStep {
	if s.Change == nil {
		told := toldStep{What: "Wait", Rule: s.Rule, Why: s.Message}
		if s.Wait > 0 {
			told.What, told.Wait = "Wait for "+duration.HumanDuration(s.Wait), s.Wait.String()
		}
		return told
	}
	words := changes.WordsOf(s.Change)
	return toldStep{What: s.Does(), Rule: s.Rule, Why: s.Because, Change: changes.KindOf(s.Change),
		Member: words.Member, Event: words.Event}
}

func endOf(f ahead.Forecast) toldEnd {
	end := toldEnd{State: endsStopped, Rule: f.End.Rule, Reason: f.End.Reason, Message: f.End.Message}
	switch {
	case f.Cut != "":
		end.State, end.Message = endsOpen, f.Cut
	case f.End.Verdict == plan.Settled, f.End.Reason == facts.ReasonAsleep:
		end.State = endsSettled
	}
	return end
}

// outcome is what the exit code says.
func (f foretold) outcome() error {
	switch {
	case f.End.State != endsSettled:
		return errNotSettled
	case len(f.Steps) > 0:
		return errStepsAhead
	}
	return nil
}

// print writes the steps, and where they end.
func (f foretold) print(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s", f.Name, f.Namespace)
	switch f.Manifest {
	case "":
	case stdin:
		text.WriteString(", with the spec of the standard input")
	default:
		text.WriteString(", with the spec of " + f.Manifest)
	}
	text.WriteString("\n")
	for _, note := range f.Notes {
		text.WriteString("\n" + note + "\n")
	}
	if len(f.Steps) > 0 {
		text.WriteString("\nWhat the operator does next, if all goes well and nothing else is changed:\n\n")
	}
	for i, s := range f.Steps {
		fmt.Fprintf(&text, "%3d. %s (%s): %s\n", i+1, s.What, s.Rule, s.Why)
	}
	fmt.Fprintf(&text, "\n%s\n", f.ending())
	_, err := out.Write(text.Bytes())
	return err
}

func (f foretold) ending() string {
	switch isFirst := len(f.Steps) == 0; {
	case f.End.State == endsOpen:
		return f.End.Message
	case f.End.State == endsSettled && isFirst:
		return "There is nothing to do: " + f.End.Message
	case f.End.State == endsSettled:
		return "Then it is settled: " + f.End.Message
	case isFirst:
		return fmt.Sprintf("The operator does nothing (%s): %s", f.End.Rule, f.End.Message)
	}
	return fmt.Sprintf("Then it goes no further (%s): %s", f.End.Rule, f.End.Message)
}
