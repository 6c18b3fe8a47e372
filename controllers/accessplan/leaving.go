package accessplan

import "fmt"

// deleting takes the access away before the object goes.
func deleting(o Observation) *Decision {
	switch {
	case !o.Client.Deleting:
		return nil
	case !o.Client.Held:
		return &Decision{Reason: ReasonRevoking, Message: "The EtcdClient is being deleted."}
	}
	return o.leaves(ReasonRevoking, "The EtcdClient is being deleted")
}

// leaves takes the user first: from then on etcd refuses the certificate.
func (o Observation) leaves(reason, cause string) *Decision {
	revokes := func(change Change, message string) *Decision {
		return &Decision{Change: change, Reason: reason, Message: message, Recheck: afterChange}
	}
	switch {
	case o.Cluster.Unwatched:
		return o.revocationWaits(reason, cause)
	case !o.Cluster.Exists || o.Cluster.Deleting || !o.Cluster.TLS:
		return revokes(Release{}, "The cluster is gone, and its users with it.")
	case o.Cluster.Paused || o.Cluster.Asleep || !o.Cluster.Bootstrapped || !o.Etcd.Known:
		return o.revocationWaits(reason, cause)
	case o.isOwn():
		return revokes(DeleteUser{o.Client.User}, "The user is deleted, so that etcd refuses the certificate.")
	case o.Etcd.Role.Exists:
		return revokes(DeleteRole{o.role()}, "The role is deleted.")
	}
	return revokes(Release{}, "The access is taken away.")
}

// revocationWaits says what is in the way. The object stays meanwhile: it says whose right is left in etcd.
func (o Observation) revocationWaits(reason, cause string) *Decision {
	why := o.Etcd.Why
	switch {
	case o.Cluster.Unwatched:
		why = "this operator does not look after the namespace " + o.Cluster.Namespace + " of the cluster"
	case o.Cluster.Paused:
		why = "the cluster is paused"
	case o.Cluster.Asleep:
		why = "the cluster sleeps"
	case !o.Cluster.Bootstrapped:
		why = "the cluster has not served yet"
	}
	return waits(reason, "%s, and its user %s may still be in etcd: %s. The operator deletes the user as soon as it "+
		"can. If the cluster never comes back, delete it, or take the finalizer %s off the EtcdClient.", cause,
		o.Client.User, why, finalizer).troubled()
}

// notWatched comes before all that asks how the cluster is.
func notWatched(o Observation) *Decision {
	if !o.Cluster.Unwatched {
		return nil
	}
	return waits(ReasonNamespaceNotWatched, "EtcdCluster %s is in namespace %s, and this operator does not look after "+
		"that. It changes nothing for this EtcdClient. Have one operator look after both namespaces, or create the "+
		"EtcdClient in a namespace of the operator that looks after the cluster.", o.Cluster.Name,
		o.Cluster.Namespace).troubled()
}

// notAllowed does not tell a cluster that is not there from one that does not allow the namespace: who may not use a
// cluster need not know of it. A client that was allowed keeps its finalizer: so it is looked whether a restore brings
// its user back.
func notAllowed(o Observation) *Decision {
	if o.Client.From == "" || o.Cluster.Allows {
		return nil
	}
	taken := ""
	if o.Client.Held {
		taken = ", and has taken away the one that it made before"
		d := o.leaves(ReasonNamespaceNotAllowed, fmt.Sprintf("EtcdCluster %s in namespace %s does not allow the "+
			"namespace %s any more", o.Cluster.Name, o.Cluster.Namespace, o.Client.From))
		_, isOver := d.Change.(Release)
		if isGone := !o.Cluster.Exists || o.Cluster.Deleting; !isOver || isGone {
			return d
		}
	}
	d := waits(ReasonNamespaceNotAllowed, "Either there is no EtcdCluster %s in namespace %s, or it does not allow "+
		"EtcdClients of namespace %s. The operator makes no user%s. Have the owner of the cluster add the namespace "+
		"to spec.access.namespaces, with prefixes that cover the keys of this EtcdClient. The operator then goes on "+
		"by itself. Or delete this EtcdClient.", o.Cluster.Name, o.Cluster.Namespace, o.Client.From, taken).troubled()
	d.Recheck = whileGranted // a change of the cluster is noticed at once
	return d
}
