package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// lives tells what is of the life that the birth record is of from what is of another one: of the life that is laid beside it,
// and of those that ended. Nobody of these is asked anything: an old member may still serve, and is a member of nothing.
type lives struct {
	birth    plan.Birth
	byVolume map[string]bool // whether the name is of a life that ended
	byPod    map[string]bool
}

func livesOf(birth plan.Birth, g gathered) lives {
	l := lives{birth: birth, byVolume: map[string]bool{}, byPod: map[string]bool{}}
	for _, task := range g.tasks {
		if member, ok := resources.RestoredMember(task.Name); ok {
			l.byPod[member] = l.hasEnded(&task)
		}
	}
	for _, pod := range g.pods {
		l.byPod[pod.Name] = l.hasEnded(&pod)
	}
	for _, volume := range g.volumes {
		l.byVolume[volume.Name] = l.hasEnded(&volume)
	}
	return l
}

// hasEnded reports whether an object is of a life that ended: the birth record says so, or what is written on the volume,
// which outlives the record.
func (l lives) hasEnded(object metav1.Object) bool {
	incarnation := object.GetLabels()[v1alpha1.LabelIncarnation]
	if incarnation == l.birth.Incarnation && incarnation != "" {
		return false
	}
	isPast := func(p plan.Past) bool { return p.Incarnation == incarnation }
	return slices.ContainsFunc(l.birth.Past, isPast) || object.GetAnnotations()[v1alpha1.AnnotationSuperseded] != ""
}

func (l lives) isComing(name string) bool { return slices.Contains(l.birth.Coming.Names, name) }

// isFormer goes by the volume, since a Pod may be made anew beside it, and without one by what is there.
func (l lives) isFormer(name string) bool {
	if l.isComing(name) {
		return false
	}
	if ended, ok := l.byVolume[name]; ok {
		return ended
	}
	return l.byPod[name]
}

// isOurs reports a name of the life that the birth record is of.
func (l lives) isOurs(name string) bool { return !l.isComing(name) && !l.isFormer(name) }

// former are the names that may still run from a life that has just ended. Once the next one serves nobody asks.
func (l lives) former() []string {
	if len(l.birth.Past) == 0 || l.birth.ClusterID != 0 {
		return nil
	}
	names := slices.Clone(l.birth.Past[len(l.birth.Past)-1].Voters)
	for _, of := range []map[string]bool{l.byVolume, l.byPod} {
		for name := range of {
			if l.isFormer(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// members are the Pods that may be asked.
func (g gathered) members(birth plan.Birth) []corev1.Pod {
	l := livesOf(birth, g)
	return slices.DeleteFunc(slices.Clone(g.pods), func(pod corev1.Pod) bool { return !l.isOurs(pod.Name) })
}

// part divides replicas among the lives.
func (l lives) part(all []plan.Replica) (ours, coming, former []plan.Replica) {
	for _, r := range all {
		switch {
		case l.isComing(r.Name):
			coming = append(coming, r)
		case l.isFormer(r.Name):
			former = append(former, r)
		default:
			ours = append(ours, r)
		}
	}
	return ours, coming, former
}
