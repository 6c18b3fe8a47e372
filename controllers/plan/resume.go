package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// resume takes over what an earlier cluster of this name left, once nothing of it runs any more. The records on the
// volumes then say who the members are: the lost bootstrap record is written from them, and their Pods start on the
// data.
func resume(o pass) *proposal {
	for _, object := range append([]facts.Object{o.Budget.Object}, o.Objects...) {
		if p := takenBy(object); p != nil && !isRetained(o, object) {
			return p
		}
	}
	c := changes.AdoptData{Items: o.Retained}
	return act(c, "it had the same name, and its members go on with their data (%s).",
		joinNames(c.Items, facts.Retained.String))
}

// isRetained reports an object that an earlier cluster left.
func isRetained(o pass, object facts.Object) bool {
	return slices.ContainsFunc(o.Retained, func(r facts.Retained) bool {
		return r.Kind == object.Kind && r.Name == object.Name
	})
}

// retainedData never gives a bootstrap the names of volumes that hold data. Where all of it is of one cluster, that is
// resumed. Where CAs alone are left, people deleted the volumes, or a backup tool is still to put them back: a person
// says which. Who begins empty writes the bootstrap record first, and takes the CAs over after that: from then on they
// do not name the earlier cluster any more, and what the person said does not count again.
func retainedData(o pass) *proposal {
	if !o.IsOverRetained() || o.BeginsEmpty() {
		return nil
	}
	why := whyNotResume(o)
	switch isData := func(r facts.Retained) bool { return !r.IsCA() }; {
	case why == "":
		return resume(o)
	case slices.ContainsFunc(o.Retained, isData):
		return refuse(facts.ReasonRetainedData,
			"An earlier cluster of this name left data behind: %s. It cannot be resumed: %s. Nothing is created over "+
				"it. To start with an empty cluster, delete what is listed; to keep it, create the cluster under "+
				"another name.", joinNames(o.Retained, facts.Retained.String), why).byHuman()
	}
	return refuse(facts.ReasonRetainedData,
		"An earlier cluster of this name left CAs and no volumes: %s. The operator creates nothing before you decide. "+
			"%s To go on with its data, put its volumes back.",
		joinNames(o.Retained, facts.Retained.String), howToBegin(o)).byHuman()
}

// howToBegin says what a person can do who wants a cluster where an earlier one left CAs and no volumes.
func howToBegin(o pass) string {
	data, asked := o.DataLeft(), ""
	names := joinNames(o.Retained, func(r facts.Retained) string { return r.Name })
	remove := fmt.Sprintf("delete the CAs: kubectl delete secret %s -n %s.", strings.ReplaceAll(names, ",", ""),
		o.Cluster.Namespace)
	switch {
	case data != "":
		return fmt.Sprintf("The annotation etcdsteward.dev/begin-empty does not count here, because there is more: "+
			"%s. To begin with a backup, or empty all the same, %s", data, remove)
	case differ(o.Retained, func(r facts.Retained) string { return r.Owner }):
		return "They are of more than one earlier cluster. To begin with an empty cluster, " + remove
	case o.Desired.BeginEmpty != "":
		asked = fmt.Sprintf("The annotation etcdsteward.dev/begin-empty=%s does not name the cluster that left them. "+
			"It counts once, over the CAs of the cluster that it names. ", o.Desired.BeginEmpty)
	}
	return fmt.Sprintf("%sTo begin with an empty cluster and these CAs: kubectl annotate etcd %s -n %s --overwrite "+
		"etcdsteward.dev/begin-empty=%s.", asked, o.Cluster.Name, o.Cluster.Namespace, o.Retained[0].Owner)
}

// takeCAs takes over the CAs that an empty cluster begins with, once its bootstrap is written down.
func takeCAs(o pass) *proposal {
	if !o.BeginsEmpty() {
		return nil
	}
	return act(changes.AdoptData{Items: o.Retained}, "the cluster begins empty, as its annotation asks. It has "+
		"the CAs of the earlier one (%s).", joinNames(o.Retained, facts.Retained.String))
}

// whyNotResume says what keeps the retained data from being one cluster that can go on, or "". What was taken over
// already counts: the operator may have died between two of them.
func whyNotResume(o pass) string {
	volumes := facts.Filter(o.Retained, facts.Retained.IsVolume)
	if newer := facts.Filter(volumes, func(v facts.Retained) bool { return v.TooNew != "" }); len(newer) > 0 {
		return fmt.Sprintf("%s: %s; upgrade the operator to the newer release", newer[0], newer[0].TooNew)
	}
	switch {
	case differ(o.Retained, func(r facts.Retained) string { return r.Owner }):
		return "it is of more than one earlier cluster"
	case o.Desired.Ephemeral && len(volumes) > 0:
		return "spec.storage.ephemeral asks for data in Pods; it is on volumes"
	case slices.ContainsFunc(volumes, func(v facts.Retained) bool { return v.TLS && !o.Desired.TLS }):
		return "spec.tls.mode is Disabled, and its members have certificates; set the mode to Permissive, and turn " +
			"TLS off once the cluster serves"
	}
	return cmp.Or(whyNotOneIncarnation(o.Incarnation, volumes), whyNotBack(o.Observation), whyUnknown(o.Observation))
}

// whyUnknown says which volume may have been put back beside others that were, or "". It holds a restored backup and no
// record yet, so nothing tells a copy of it from itself.
func whyUnknown(o facts.Observation) string {
	unknown := o.UnknownBesideCopies()
	if unknown == "" {
		return ""
	}
	return fmt.Sprintf("other volumes were put back by a backup tool, and nothing says whether %s was as well. Delete "+
		"it to go on with the others, or restore a backup", unknown)
}

// whyNotBack says why an incarnation is not resumed that another one had taken the place of, or "". A client that was
// served by that one watches from a revision that the resumed one gets to much later, and hears nothing until then.
func whyNotBack(o facts.Observation) string {
	later := o.GoesBackFrom()
	if later == "" {
		return ""
	}
	var names []string
	for _, v := range o.Resumed() {
		names = append(names, v.Name)
	}
	return fmt.Sprintf("a restore in place put the incarnation %s in their place, and clients were served since, at "+
		"higher revisions. One that watches from such a revision would get neither changes nor an error. Restart such "+
		"clients once the cluster serves again. To go on, say that you know: kubectl annotate pvc %s -n %s "+
		"etcdsteward.dev/goes-back-from=%s --overwrite", later, strings.Join(names, " "), o.Cluster.Namespace, later)
}

// whyNotOneIncarnation says what keeps the volumes from being one incarnation of one cluster, or "".
func whyNotOneIncarnation(o facts.Incarnation, volumes []facts.Retained) string {
	var known []facts.Retained
	for _, r := range facts.Filter(o.Members, facts.Replica.IsRecorded) {
		known = append(known, facts.Retained{Record: r.Record(), Incarnation: r.Incarnation()})
	}
	known = append(known, facts.Filter(volumes, func(v facts.Retained) bool {
		return !v.Record.IsZero() &&
			v.Superseded == ""
	})...)
	hasEnded := slices.ContainsFunc(volumes, func(v facts.Retained) bool { return v.Superseded != "" })
	switch {
	case len(known) == 0 && hasEnded:
		return "a restore in place replaced them, and no restored volume says that it served. To go on with " +
			"them as they are, take the annotation etcdsteward.dev/superseded-by off all of one incarnation " +
			"(label etcdsteward.dev/incarnation)"
	case len(known) == 0:
		return "no volume says which cluster it was"
	case differ(known, func(r facts.Retained) string { return r.Record.ClusterID.String() }):
		return "its volumes are of different etcd clusters"
	case differ(known, func(r facts.Retained) string { return r.Incarnation }):
		return "its volumes are of different incarnations of the cluster"
	}
	return ""
}

func differ(items []facts.Retained, key func(facts.Retained) string) bool {
	return slices.ContainsFunc(items, func(r facts.Retained) bool { return key(r) != key(items[0]) })
}

// speaker is the recorded member that says which etcd cluster, and which incarnation, this is: of one that this object
// began, or of the earlier object whose data was taken over.
func speaker(o pass) facts.Replica {
	recorded := facts.Filter(o.Members, facts.Replica.IsRecorded)
	return recorded[max(0, slices.IndexFunc(recorded, o.IsBootstrappedHere))]
}

// The way back from a restored incarnation that never came to serve.

// restoreGoBack makes the previous incarnation the current one again, once a person approved that, as long as the
// restored one never served. What starts its members then are the rules of a cluster that lives.
func restoreGoBack(o pass) *proposal {
	request, ok := chosenRequest(o)
	if !ok || request.Source != record.SourcePrevious {
		return nil
	}
	if why := whyNotGoBack(o); why != "" {
		return refuse(facts.ReasonRestoreHeld, cannotCarryOut, request.Name, why+". Delete it, and restore a backup "+
			"with another EtcdRestore; or, where the previous volumes are kept, go back to them by hand as "+
			pages.Docs+"docs/restore.md says").byHuman().yielding()
	}
	bootstrap := bootstrapOfPrevious(o)
	return act(changes.GoBack{From: o.Bootstrap.Incarnation, Restore: request.ID, BeginBootstrap: bootstrap},
		"the EtcdRestore %s is approved. All that these members held comes back. What was restored never served, and "+
			"its volumes are kept.", request.Name)
}

// bootstrapOfPrevious is the record of the previous incarnation, by what its volumes say.
func bootstrapOfPrevious(o pass) changes.BeginBootstrap {
	last, _ := o.Previous()
	members := ableToReturn(o)
	return changes.BeginBootstrap{Incarnation: last.Incarnation, Token: token(o.Cluster.UID, last.Incarnation),
		Names: facts.Names(members), ClusterID: members[0].Record().ClusterID}
}

// ableToReturn are the members of the previous incarnation whose own volumes are there, with their data as far as it
// is known.
func ableToReturn(o pass) []facts.Replica {
	_, members := o.Previous()
	return facts.Filter(members, func(r facts.Replica) bool { return r.MayReturn(o.Bootstrap.Incarnation) })
}

// whyNotGoBack says why the cluster cannot go back to the previous incarnation, or "".
func whyNotGoBack(o pass) string {
	switch last, _ := o.Previous(); {
	case o.IsAlive() || last.Incarnation == "":
		return "the cluster serves, or did, with what it holds now, and what was written since would be lost"
	case o.Membership.Known || o.IsAnyReady():
		return "a quorum of the restored members answers, and the cluster is about to serve with them"
	case o.IsPreparing():
		return "another restore is being prepared"
	}
	return cmp.Or(unfenced(o), o.WhyNoCertificates(), whyNoQuorumBack(o))
}

// whyNoQuorumBack says why the volumes of the previous incarnation are not enough to go back to, or "". Where it
// is not known who had a vote in it, each of its members may be all there was.
func whyNoQuorumBack(o pass) string {
	last, _ := o.Previous()
	members := ableToReturn(o)
	voters := facts.Filter(members, func(r facts.Replica) bool {
		return last.Voters == nil || slices.Contains(last.Voters, r.Name)
	})
	if len(voters) < etcdutil.Quorum(len(last.Voters)) {
		return fmt.Sprintf("of the previous incarnation %s too few volumes are there with the data of its "+
			"members: %d of %d", last.Incarnation, len(voters), len(last.Voters))
	}
	for _, r := range members {
		if r.Record().ClusterID != members[0].Record().ClusterID {
			return fmt.Sprintf("the volumes of %s and %s say that they are of different clusters", members[0].Name,
				r.Name)
		}
	}
	return ""
}

// WayBack says how to go back to the previous incarnation, in one command, where that is possible; or "".
func WayBack(o facts.Observation) string { return wayBack(current(o)) }

func wayBack(o pass) string {
	if whyNotGoBack(o) != "" {
		return ""
	}
	digest := evidenceNow(o).Digest
	says := fmt.Sprintf("No client was served what was restored. To go back to %s, with all that these members held: ",
		strings.Join(facts.Names(ableToReturn(o)), ", "))
	for _, r := range o.Requests {
		if r.Source == record.SourcePrevious && !o.CameOf(r.ID) {
			return says + fmt.Sprintf(`kubectl patch etcdrestore %s -n %s --type merge -p `+
				`'{"spec":{"approval":"%s"}}' (see docs/restore.md).`, r.Name, o.Cluster.Namespace, digest)
		}
	}
	return says + fmt.Sprintf(`echo '{"apiVersion":"etcdsteward.dev/v1alpha1","kind":"EtcdRestore","metadata":`+
		`{"generateName":"%s-back-"},"spec":{"clusterRef":{"name":"%s"},"source":{"previous":{}},"approval":"%s"}}' | `+
		"kubectl create -n %s -f - (it approves an EtcdRestore with source.previous: see "+
		pages.Docs+"docs/restore.md).",
		o.Cluster.Name, o.Cluster.Name, digest, o.Cluster.Namespace)
}

// withWayBack adds that to what only a person, or time without end, can end while restored members do not come to
// serve.
func withWayBack(o pass, d Decision) Decision {
	if d.NeedsHuman || d.Overdue {
		if way := wayBack(o); way != "" {
			d.Message += " " + way
		}
	}
	return d
}
