package plan

import "github.com/etcdsteward/etcd-steward/controllers/record"

// The collector: what belongs to no wanted member and to no wanted incarnation is deleted, or put aside for a while.

// collect deletes one leftover at a time. What a member lived on is put aside first, where the judgement that removed
// it may be wrong.
func collect(o view) *proposal {
	for _, step := range []func(view) *proposal{collectMembers, collectFormer, collectKept} {
		if p := step(o); p != nil {
			return p
		}
	}
	return nil
}

// collectMembers deletes what removed members leave: the certificates, because nothing would look for them later, the
// Pod, then the volume. What was prepared for the member to be added stays.
func collectMembers(o view) *proposal {
	promised := o.promise()
	for _, r := range o.Members {
		if r.Member != nil || r.Name == promised || r.Pod != nil && r.Pod.Terminating {
			continue
		}
		if p := collectSecret(r); p != nil {
			return p
		}
		if r.Pod != nil {
			return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonLeftover,
				"%s is no member any more; its Pod is deleted.", r.Name)
		}
		if p := o.collectVolume(r); p != nil {
			return p
		}
	}
	return nil
}

func collectSecret(r Replica) *proposal {
	if r.Secret.State != ObjectCurrent && r.Secret.State != ObjectDrifted {
		return nil
	}
	return act(DeleteSecret{Name: r.Name}, ReasonLeftover, "%s is no member any more; its certificates are deleted.",
		r.Name)
}

// collectKept deletes what was kept of replaced members for as long as the user asks. Where nothing says since when,
// that time begins once more.
func collectKept(o view) *proposal {
	var volumes []VolumeRef
	for _, v := range o.Kept {
		if v.Since.IsZero() {
			return act(KeepVolume{Volume: VolumeRef{Name: v.Name, UID: v.UID}, For: v.For}, ReasonKeepVolume,
				"The time when the volume %s was put aside cannot be read; it is kept as if that were now.", v.Name)
		}
		if o.isExpired(v) {
			volumes = append(volumes, VolumeRef{Name: v.Name, UID: v.UID})
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(DeleteVolumes{Volumes: volumes}, ReasonLeftover,
		"The volumes of %s were kept for %s since their members were replaced; they are deleted.",
		joinNames(volumes, func(v VolumeRef) string { return v.Name }), o.Desired.KeepVolumes)
}

// isExpired reports a kept volume whose time is over. A copy that differs has none: a person deletes it.
func (o Observation) isExpired(v KeptVolume) bool {
	return v.For != CauseCorruption && o.Now.Sub(v.Since) >= o.Desired.KeepVolumes
}

func (o view) collectVolume(r Replica) *proposal {
	if r.Volume == nil || r.Volume.Terminating {
		return nil
	}
	record := r.Volume.Record
	if !record.IsZero() && r.Volume.Incarnation != o.Birth.Incarnation {
		return nil // another incarnation's data is kept
	}
	if !record.IsZero() && record.ClusterID != o.Membership.ClusterID {
		return refuse(ReasonForeignData,
			"The volume %s is recorded as part of cluster %s; this is %s. It is not touched.",
			r.Name, record.ClusterID, o.Membership.ClusterID).byHuman().yielding()
	}
	if cause := r.Volume.RemovedFor; cause != NoCause && o.keeps(cause) {
		return act(KeepVolume{Volume: r.volumeRef(), For: cause}, ReasonKeepVolume,
			"%s was replaced (%s); its volume is kept.", r.Name, cause)
	}
	return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonLeftover,
		"%s is no member any more; its volume is deleted.", r.Name)
}

// collectFormer deletes the volumes of an incarnation that a restore ended, once its EtcdRestore says so and what took its
// place serves.
func collectFormer(o view) *proposal {
	var volumes []VolumeRef
	for _, r := range o.FormerMembers() {
		if r.Volume != nil && !r.Volume.Terminating && o.whyKeepFormer(r) == "" {
			volumes = append(volumes, r.volumeRef())
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(DeleteVolumes{Volumes: volumes}, ReasonLeftover,
		"The restore asks to give up what was there before it; the volumes of %s are deleted.",
		joinNames(volumes, func(v VolumeRef) string { return v.Name }))
}

// restoreLeftover deletes what restored a cluster that lives now.
func restoreLeftover(o view) *proposal {
	if p := o.Preflight; p != nil && !p.Terminating && !o.isAskedAgain(p) {
		return act(DeletePreflight{UID: p.UID}, ReasonLeftover,
			"The cluster has begun; the Pod that looked at a backup is deleted.")
	}
	var pods []PodRef
	for _, r := range o.Members {
		if r.Restoring != nil && !r.Restoring.Terminating {
			pods = append(pods, r.restoreRef())
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return act(DeleteRestores{Pods: pods}, ReasonLeftover, "The cluster has begun; the restore Pods of %s are deleted.",
		podNames(pods))
}

// isAskedAgain reports whether a restore in place needs what the Pod finds.
func (o view) isAskedAgain(p *Preflight) bool {
	request, ok := o.chosen()
	return ok && !o.isPreparing() && request.Source == record.SourceBackup && p.Asked == o.asking(request).inquiry()
}
