package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

type statusOptions struct{ all, everywhere, watch bool }

// isOfAll reports that clusters are asked for, and not one of them.
func (o statusOptions) isOfAll() bool { return o.all || o.everywhere }

// refuse says what of the command line does not go together.
func (o statusOptions) refuse(c *cobra.Command, args []string) error {
	switch {
	case !o.isOfAll():
		return oneCluster(c, args)
	case len(args) > 0:
		return fmt.Errorf("--all and --all-namespaces show all clusters, and %s is one of them: give one of the two",
			args[0])
	case o.watch:
		return errors.New("--watch shows one cluster: name it, and leave out --all and --all-namespaces")
	}
	return nil
}

func (p program) statusCommand() *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use: "status [CLUSTER]", Short: "Show a cluster on one page, or all clusters in a table",
		Args: func(c *cobra.Command, args []string) error { return o.refuse(c, args) },
		Example: "  kubectl etcd-steward status demo\n" +
			"  kubectl etcd-steward status demo --watch\n" +
			"  kubectl etcd-steward status demo -o json\n" +
			"  kubectl etcd-steward status --all\n" +
			"  kubectl etcd-steward status -A",
		Long: "Shows health, quorum, the next step of the operator, members, versions, certificates, the last " +
			"backup and the conditions that are not as they should be. With --all it shows one line for each cluster " +
			"of the namespace. The exit code is 2 for a cluster that is not known to be Available, and 1 for an " +
			"error. With --all it is 2 where that is so of one that does not sleep.",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		switch {
		case o.isOfAll():
			return s.showAll(ctx, o.everywhere, show)
		case o.watch:
			return s.watch(ctx, args[0], betweenPages(p.out), show)
		}
		in, err := s.look(ctx, args[0])
		if err != nil {
			return err
		}
		return show(s.pageOf(in).sight())
	})
	flags := c.Flags()
	flags.BoolVar(&o.all, "all", false, "Show one line for each cluster of the namespace.")
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "Show one line for each cluster of all namespaces.")
	flags.BoolVarP(&o.watch, "watch", "w", false,
		"Show the page again each time the EtcdCluster changes, until Ctrl-C.")
	return c
}

// pageOf is the page of a cluster.
func (s *session) pageOf(in seen) page {
	return page{summary: summarize(in), unseen: unseen(in.cluster), now: s.now()}
}

func (p page) sight() sight {
	shown := sight{text: p.print, data: p.summary}
	if !p.Available {
		shown.ends = errNotAvailable
	}
	return shown
}

// look reads all that a status tells. Only the EtcdCluster is needed: what else may not be read is said.
func (s *session) look(ctx context.Context, name string) (seen, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return seen{}, err
	}
	in := seen{cluster: c, operator: s.operator(ctx, c)}
	var all v1alpha1.EtcdBackupList
	in.backupErr = s.list(ctx, s.namespace, &all)
	in.backups = all.Items
	var asked v1alpha1.EtcdRestoreList
	in.restoreErr = s.list(ctx, s.namespace, &asked)
	in.restores = asked.Items
	return in, nil
}

// page is a summary as people read it.
type page struct {
	summary

	unseen bool // the spec has a change that the status does not describe yet
	now    time.Time
}

// print writes the page: what matters most at three in the morning stands first.
func (p page) print(out io.Writer) error {
	var (
		text bytes.Buffer
		told telling
	)
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s\n\n", p.Name, p.Namespace)
	for _, l := range []struct{ key, value string }{
		{"Health", sentence(p.Health.State, told.say(p.Health.Message, "Health"))},
		{"Data", p.data()},
		{"Quorum", sentence(p.Quorum.State, p.Quorum.Message)},
		{"Next step", p.nextStep(&told)},
		{"Restore", p.restore()},
		{"Operator", sentence(p.Operator.State, p.Operator.Message)},
		{"Version", p.version()},
		{"Roll", p.roll()},
		{"Certificates", p.certificates()},
		{"Last backup", p.lastBackup(&told)},
		{"Database", p.database()},
		{"Largest", p.largest()},
		{"Kept", p.kept()},
	} {
		if l.value == "" {
			continue
		}
		fmt.Fprintf(&text, "%-14s%s\n", l.key+":", strings.ReplaceAll(l.value, "\n", "\n"+strings.Repeat(" ", 14)))
	}
	p.printMembers(&text)
	p.printConditions(&text, &told)
	_, err := out.Write(text.Bytes())
	return err
}

// sentence is a word and what it means.
func sentence(word, text string) string { return strings.TrimSuffix(word+". "+text, ". ") }

func (p page) nextStep(told *telling) string {
	step, since := p.NextStep, ""
	if step == nil {
		return "Unknown. The operator has not looked at this cluster yet."
	}
	if !step.Since.IsZero() {
		since = fmt.Sprintf(" since %s (%s)", date(step.Since.Time), ago(step.Since.Time, p.now))
	}
	lines := fmt.Sprintf("%s%s, by rule %s", inShort(step), since, step.Rule)
	if says := told.say(step.Message, "the next step"); !isReference(says) {
		lines += "\n" + says
	}
	if p.unseen {
		lines += "\nThe operator has not seen the newest change of the spec yet."
	}
	return lines
}

// inShort is a step in a word or two. Who refuses may be Kubernetes, etcd or the operator: the message says it.
func inShort(step *v1alpha1.NextStep) string {
	if step.Reason == step.Verdict {
		return step.Verdict
	}
	return step.Verdict + ": " + step.Reason
}

// isBlocked reports a step that is refused, for now or until a person does something.
func isBlocked(step *v1alpha1.NextStep) bool {
	return step != nil && (step.Verdict == v1alpha1.VerdictBlocked || step.Verdict == v1alpha1.VerdictStalled)
}

func (p page) version() string {
	v := p.Version
	switch {
	case v.Current == "":
		return sentence("Unknown", wanted(v.Target))
	case len(v.Path) > 0:
		return fmt.Sprintf("%s is the lowest that runs. Still to come: %s.", v.Current, strings.Join(v.Path, ", "))
	case p.isVersionRefused():
		return fmt.Sprintf("%s is the lowest that runs. The spec asks for %s, and no member moves to it: see the next "+
			"step.",
			v.Current, v.Target)
	case v.Target != "" && v.Target != v.Current:
		return v.Current + " is the lowest that runs. " + wanted(v.Target)
	}
	return v.Current
}

// isVersionRefused reports members that stay at their version, although the spec asks for another one.
func (p page) isVersionRefused() bool {
	v := p.Version
	return v.Current != "" && v.Target != "" && v.Target != v.Current && len(v.Path) == 0 && isBlocked(p.NextStep)
}

func wanted(target string) string { return "The spec asks for " + target + "." }

func (p page) roll() string {
	text := fmt.Sprintf("%d of %d members run with the settings of the spec.", p.Roll.Updated, p.Roll.Members)
	if p.Roll.Members != int(p.Size.Wanted) && p.Roll.Members > 0 {
		text += fmt.Sprintf(" The spec asks for %d.", p.Size.Wanted)
	}
	if s := p.Roll.Sidecars; s != nil {
		text += fmt.Sprintf(" %d of %d Pods have its sidecars, and in %d all are ready.", s.Updated, s.Matched, s.Ready)
	}
	return text
}

func (p page) certificates() string {
	first := p.Certificates
	switch {
	case first == nil:
		return none
	case !first.Time.After(p.now):
		return fmt.Sprintf("That of %s expired on %s, %s.", first.Member, date(first.Time.Time),
			ago(first.Time.Time, p.now))
	}
	return fmt.Sprintf("The first one, of %s, expires on %s, in %s.", first.Member, date(first.Time.Time),
		age(p.now, first.Time.Time))
}

func (p page) restore() string {
	if p.Restores.Message != "" {
		return sentence("Unknown", "EtcdRestores cannot be read: "+p.Restores.Message)
	}
	lines := make([]string, len(p.Restores.Open))
	for i, r := range p.Restores.Open {
		lines[i] = r.Message
	}
	return strings.Join(lines, "\n")
}

func (p page) lastBackup(told *telling) string {
	var lines []string
	switch last := p.Backup.Last; {
	case p.Backup.Message != "":
		lines = append(lines, sentence("Unknown", "EtcdBackups cannot be read: "+p.Backup.Message))
	case last == nil:
		lines = append(lines, "No EtcdBackup of this cluster is Complete.")
	default:
		lines = append(lines, fmt.Sprintf("%s is Complete %s: it has all writes until %s (%s).", last.Name,
			verified(last.Verified), date(last.StartedAt.Time), ago(last.StartedAt.Time, p.now)))
	}
	if at := p.Backup.Proven; at != nil {
		lines = append(lines, fmt.Sprintf("The newest proven backup has all writes until %s (%s), revision %d.",
			date(at.Time.Time), ago(at.Time.Time, p.now), at.Revision))
	}
	for _, b := range p.Backup.Waiting {
		lines = append(lines, fmt.Sprintf("EtcdBackup %s has waited %s: %s", b.Name, age(b.Since.Time, p.now),
			told.say(b.Message, "Last backup")))
	}
	return strings.Join(lines, "\n")
}

func verified(isVerified bool) string {
	if isVerified {
		return "and Verified"
	}
	return "and not Verified"
}

func (p page) printMembers(text *bytes.Buffer) {
	text.WriteString("\nMembers:\n")
	rows := make([]memberRow, len(p.Members))
	for i, m := range p.Members {
		rows[i] = memberRow{MemberStatus: m, Leads: m.Name == p.Leader}
	}
	_ = printTable(text, "  ", rows, pick(memberColumns(p.now), "NAME", "POD", "NODE", "VERSION", "ROLE", "HEALTH",
		"DB SIZE", "IN USE", "CERTIFICATE")) // into memory
}

func (p page) printConditions(text *bytes.Buffer, told *telling) {
	switch {
	case p.NextStep == nil:
		return // there are none yet
	case len(p.Conditions) == 0:
		when := "are as they should be"
		if p.Operator.State == operatorGone {
			when = "were as they should be when the operator looked last"
		}
		fmt.Fprintf(text, "\nAll conditions %s.\n", when)
		return
	}
	text.WriteString("\nConditions that are not as they should be:\n")
	for _, c := range p.Conditions {
		says := told.say(c.Message, c.Type)
		if isReference(says) {
			says = " " + strings.ToLower(says[:1]) + says[1:]
		} else {
			says = "\n    " + says
		}
		fmt.Fprintf(text, "  %s is %s since %s (%s), %s:%s\n", c.Type, c.Status, date(c.LastTransitionTime.Time),
			ago(c.LastTransitionTime.Time, p.now), c.Reason, says)
	}
}

// date is a time as it stands in logs of members and of the operator.
func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// age is the time from one moment to another one, as kubectl prints it.
func age(from, to time.Time) string { return duration.HumanDuration(to.Sub(from)) }
