package report

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// changeEvents tell what was just done, and beside it what only the look knows.
func changeEvents(in Input) []words.Event {
	says := changes.WordsOf(in.Outcome.Change)
	note := says.Done() + "."
	if because := in.Decision.Because; because != "" {
		note = says.Done() + ": " + because
	}
	told := done(in, says.Event, says.Member, note)
	switch c := in.Outcome.Change.(type) {
	case changes.BeginBootstrap:
		if c.ClusterID == 0 {
			return append(told, restoreBegun(in, c.Origin)...)
		}
	case changes.NextBootstrap:
		return append(told, restoreBegun(in, c.Origin)...)
	case changes.RecordBootstrap:
		if !in.Observation.Current.Membership.Known { // it is put back from a volume, and no news
			told[0].Reason = changes.EventRecorded
			return told
		}
		return append(told, restoreDone(in)...)
	case changes.ApplyObjects:
		if news := renewed(in, c); len(news) > 0 {
			return news
		}
	case changes.VoidBootstrap:
		told[0].Warning = true
	default:
	}
	return told
}

// NotTakenOver tells a person who asked this install to take a cluster over why it does not. In the status the install
// that looks after the cluster may tell something else.
func NotTakenOver(in Input) []words.Event {
	why := in.Outcome.Message
	if in.Decision.Change == nil {
		why = in.Decision.Message
	}
	if why == "" || in.Observation.Desired.Operator != in.Observation.Cluster.Operator {
		return nil
	}
	return warning(EventNotTaken, changes.KindOf(changes.TakeOver{}), why)
}

func done(in Input, reason, member, note string) []words.Event {
	return []words.Event{{
		Reason: reason, Action: changes.KindOf(in.Outcome.Change), Note: strings.TrimSpace(note), Member: member,
	}}
}

// restoreBegun tells which backup the cluster is to begin with, and what comes back with it.
func restoreBegun(in Input, origin record.Origin) []words.Event {
	if origin.IsZero() {
		return nil
	}
	says := fmt.Sprintf("It begins with the backup %s, of revision %d and etcd %s.", origin.Key, origin.Revision,
		wroteBy(origin))
	events := done(in, EventRestoring, "", join(says, caveats(origin)))
	if origin.Alarms != "" {
		events[0].Warning = true
		events[0].Note += fmt.Sprintf(" When it was taken etcd had raised %s, and will raise it again.", origin.Alarms)
	}
	return events
}

// restoreDone tells that the cluster serves with the backup that it began with.
func restoreDone(in Input) []words.Event {
	origin := in.Observation.Current.Bootstrap.Origin
	if origin.IsZero() {
		return nil
	}
	says := fmt.Sprintf("The cluster serves with what the backup %s held at revision %d.", origin.Key, origin.Revision)
	return done(in, EventRestored, "", join(says, caveats(origin)))
}

// renewed tells of certificates that were issued anew, of members and of clients. Those of a new cluster or member are
// no news, and neither is the operator's own.
func renewed(in Input, c changes.ApplyObjects) []words.Event {
	var members []string
	for _, name := range c.Secrets {
		if secret := in.Observation.Current.Find(name).Secret; secret.State == facts.ObjectDrifted {
			members = append(members, fmt.Sprintf("%s (before: %s)", secret.Name, secret.Detail))
		}
	}
	var events []words.Event
	if len(members) > 0 {
		events = done(in, EventRenewed, "", fmt.Sprintf("Renewed the Secrets of members: %s. Members read them within "+
			"two minutes, without a restart.", strings.Join(members, ", ")))
	}
	clients := in.clientSecret()
	for _, object := range c.Objects {
		if clients != nil && object.Name == clients.Name && object.State == facts.ObjectDrifted {
			note := fmt.Sprintf("Renewed the Secret of clients: %s (before: %s). Clients that hold a copy of it need "+
				"the new one.", object.Name, object.Detail)
			events = append(events, done(in, EventRenewed, "", note)...)
		}
	}
	return events
}
