(** The handshake of `joint-executor/src/sleep.rs`: a push and a worker that goes to sleep each write
    one place, have a fence, and read the other's. It is on `psc`, for any number of workers.

    What is here is the first paragraph of the proof in the header of that file. Its exceptions are
    outside, but for the push that relies on a lookout. *)

Require Import Relations Rc11.

Section Fences.
  Variable X : execution.
  Hypothesis C : consistent X.
  Notation E := (event X).

  Definition sc_fence (e : E) := kind_of X e = Fence /\ mode_of X e = Sc.

  (** The part of `psc` that the proofs use: `[F sc]; hb; fr; hb; [F sc]`. *)
  Definition psc (f g : E) :=
    sc_fence f /\ sc_fence g /\ exists r w, hb X f r /\ fr X r w /\ hb X w g.

  Hypothesis psc_acyclic : forall f, ~ clos_trans E psc f f.

  (** A side: it writes, has a fence, and reads. *)
  Definition side (w f r : E) := hb X w f /\ sc_fence f /\ hb X f r.

  Lemma not_both_are_missed : forall w f r w' f' r',
    side w f r -> side w' f' r' -> fr X r w' -> fr X r' w -> False.
  Proof.
    intros w f r w' f' r' (B & S & A) (B' & S' & A') M M'.
    apply (psc_acyclic f). apply t_trans with f'; apply t_step; split; auto; split; auto.
    - exists r, w'. auto.
    - exists r', w. auto.
  Qed.

  (** The read finds this write or a later one. *)
  Definition sees (r w : E) := exists v, rf X v r /\ (v = w \/ mo X w v).

  Lemma sees_or_misses : forall r w, reads X r -> writes X w -> loc X r = loc X w -> r <> w ->
    sees r w \/ fr X r w.
  Proof.
    intros r w R W same differ. destruct (reads_one X C r R) as (v & F).
    destruct (rf_reads X C v r F) as (V & _ & at_r & some).
    destruct (mo_total X C v w V W) as [-> | [M | M]]; try congruence.
    - left. exists w. auto.
    - right. exists v. auto.
    - left. exists v. auto.
  Qed.

  (** P1, P2 and P3 are the push, S1, S2 and S3 the worker that goes to sleep. *)
  Theorem a_push_or_a_sleeper_sees_the_other : forall p1 p2 p3 s1 s2 s3,
    side p1 p2 p3 -> side s1 s2 s3 ->
    reads X p3 -> writes X s1 -> loc X p3 = loc X s1 -> p3 <> s1 ->
    reads X s3 -> writes X p1 -> loc X s3 = loc X p1 -> s3 <> p1 ->
    sees p3 s1 \/ sees s3 p1.
  Proof.
    intros p1 p2 p3 s1 s2 s3 P S Rp Ws same differ Rs Wp same' differ'.
    destruct (sees_or_misses p3 s1) as [| M]; auto.
    destruct (sees_or_misses s3 p1) as [| M']; auto.
    destruct (not_both_are_missed _ _ _ _ _ _ P S M M').
  Qed.

  (** A push that relied on a lookout has read the counts before that one left, by [left]. All that
      leave do so by exchanges of the counts, in an order. So whoever leaves as the last lookout,
      which may be another worker, sees the push. *)
  Theorem the_last_lookout_sees_the_push : forall p1 p2 p3 left s1 s2 s3,
    side p1 p2 p3 -> side s1 s2 s3 ->
    fr X p3 left -> left = s1 \/ mo X left s1 -> p3 <> s1 ->
    reads X s3 -> writes X p1 -> loc X s3 = loc X p1 -> s3 <> p1 -> sees s3 p1.
  Proof.
    intros p1 p2 p3 left s1 s2 s3 P S (v & F & M & D) order differ R W same differ'.
    destruct (sees_or_misses s3 p1) as [| Missed]; auto.
    destruct (not_both_are_missed _ _ _ _ _ _ P S) with (2 := Missed).
    exists v. repeat split; auto. destruct order as [-> | later]; auto.
    exact (mo_trans X C _ _ _ M later).
  Qed.
End Fences.
