(** What `Word.v` says of the two sides, in every state that they reach. *)

Require Import List Arith Lia Bool Common Word.
Import ListNotations.

Section Proof.
  Variable slotted : bool.
  Notation step := (step slotted).
  Notation reachable := (reachable start step).

  (** * What holds in every state *)

  Definition fits e r := match e with Done => r = Here | Abandoned => r <> Here end.

  (** The memory is alive and belongs to a side that has, or has not, taken the result. *)
  Definition owner e (taken : bool) s :=
    alive s = true /\ if taken then e = Done /\ the_result s = Moved else fits e (the_result s).

  (** While the completer has not finished, the waiter knows its word. *)
  Definition waits_for r s := the_word s = match r with Some i => Waker i | None => Pending end /\
    (r = None -> past s = []).

  (** Once it has finished, a waiter that has not seen it finds the end, and its waker is woken. *)
  Definition will_find r s := alive s = true /\
    (exists e, the_word s = Ended e /\ fits e (the_result s)) /\
    forall i, r = Some i -> In i (to_wake s) \/ In i (woken s).

  Definition agree s := match the_completer s, the_waiter s with
    | (Works | Looked _), (Rests r | Registers r _ | Leaves r _) => alive s = true /\ waits_for r s
    | (Works | Looked _), Drops _ i => alive s = true /\ waits_for (Some i) s
    | (Works | Looked _), Gone => alive s = true /\ the_word s = Detached
    | (Works | Looked _), _ => False
    | Finished, (Rests r | Registers r _ | Leaves r _) => will_find r s
    | Finished, Drops _ i => will_find (Some i) s
    | Finished, Restores e i => the_word s = Waker i /\ owner e false s
    | Finished, DropsOwn _ e => the_word s = Ended e /\ owner e false s
    | Finished, RestoresLast e => the_word s = Detached /\ owner e false s
    | Finished, Ready e taken => (forall i, the_word s <> Waker i) /\ owner e taken s
    | Finished, Gone => alive s = false /\ the_result s <> Here /\ forall i, the_word s <> Waker i
    | Owns e taken, v => v = Gone /\ owner e taken s /\ forall i, the_word s <> Waker i
    end.

  (** What the slot needs: whoever takes the waker in place out of the word has its copy. *)
  Definition slot_agrees s :=
    (forall p, placed s = Some p -> p < made s /\
      (forall old, the_waiter s <> Registers (Some old) p) /\
      (the_completer s <> Finished -> the_word s = Waker p -> past s = [p])) /\
    match the_completer s with
    | Looked copy => exists i, In i (past s) /\ copy = copy_of i s
    | _ => True
    end /\
    match the_waiter s with
    | Leaves (Some i) copy => copy = copy_of i s
    | Registers r i => i < made s
    | _ => True
    end.

  Notation count i all := (count_occ Nat.eq_dec all i).

  (** How often a waker is anywhere: in the word, in a side's hands, woken or dropped. *)
  Definition places i s :=
    count i match the_word s with Waker j => [j] | _ => [] end +
    count i match the_waiter s with
      | Registers _ j | Drops j _ | DropsOwn j _ => [j] | _ => [] end +
    count i (to_wake s) + count i (to_drop s) + count i (woken s) + count i (dropped s).

  Definition holds s := agree s /\ slot_agrees s /\
    forall i, places i s = if i <? made s then 1 else 0.

  (** The states before and after a step, field by field. *)
  Ltac open := unfold finishes, registers, detaches, cloned, drops, may_finish in *; simpl in *.

  Ltac settle := repeat match goal with
    | |- _ /\ _ => split
    | |- exists e, Ended _ = Ended e /\ _ => eexists; split; [reflexivity |]
    | |- _ -> _ => intro
    end; facts; simpl in *; try congruence; auto.

  Lemma moved : forall (i j : nat) before after rest,
    In j (before ++ i :: after) \/ In j rest -> In j (before ++ after) \/ i = j \/ In j rest.
  Proof. intros i j before after rest. rewrite !in_app_iff. simpl. tauto. Qed.

  (** How each part of [holds] follows in a case of a step. *)
  Ltac agree_holds :=
    try match goal with H : if ?taken then _ else _ |- _ => destruct taken end;
    try match goal with e : ending |- _ => destruct e end; facts; open; try congruence;
    settle; first [apply moved; solve [auto] | intuition congruence].

  Ltac slot_agrees_holds P := destruct P as (P & L & V);
    unfold slot_agrees, copy_of in *; simpl in *; settle;
    try (specialize (P _ eq_refl)); settle; eauto; try match goal with
    | H : _ -> Waker ?p = Waker ?p -> ?q = [?p] |- ?q = [?p] => apply H; congruence
    | H : forall i, Waker ?p <> Waker i |- _ => destruct (H p eq_refl)
    | H : forall old, Registers (Some ?o) ?p <> Registers (Some old) ?p |- _ =>
      destruct (H o eq_refl)
    | H : False |- _ => destruct H
    | |- match ?r with Some _ => _ | None => True end => destruct r; reflexivity
    | |- Registers _ _ <> Registers _ _ => intros E; injection E; intros; lia
    end.

  Ltac places_hold O := intros j; specialize (O j); unfold places in *; simpl in *;
    rewrite ?count_occ_app in *; simpl in *; try lia;
    try match goal with w : word |- _ => destruct w; simpl in *;
      try match goal with H : forall i, Waker ?j <> _ |- _ => destruct (H j eq_refl) end end;
    repeat match goal with
    | |- context [Nat.eq_dec ?a ?b] => destruct (Nat.eq_dec a b)
    | H : context [Nat.eq_dec ?a ?b] |- _ => destruct (Nat.eq_dec a b)
    | |- context [?a <? ?b] => destruct (Nat.ltb_spec a b)
    | H : context [?a <? ?b] |- _ => destruct (Nat.ltb_spec a b)
    end; lia.

  (** Each step, in the cases that [agree] leaves. *)
  Lemma always : forall s, reachable s -> holds s.
  Proof.
    intros s R. induction R as [| s l s' _ (A & P & O) S].
    { repeat split; intros; simpl; auto; discriminate. }
    destruct s as [w c v r a p m k d n x q].
    destruct S; unfold agree in A; simpl in *; subst;
      try match goal with c : completer |- _ => destruct c end; try contradiction;
      try match goal with v : waiter |- _ => destruct v end; try contradiction;
      unfold holds, agree, will_find, waits_for, owner, fits in *; facts; try discriminate; open;
      try match goal with
      | |- context [match ?r with Some _ => Waker _ | None => Pending end] => destruct r
      | H : context [match ?r with Some _ => Waker _ | None => Pending end] |- _ => destruct r
      end; try discriminate; open;
      try match goal with |- context [if slotted then _ else _] => destruct slotted end; subst;
      (split; [clear P O; agree_holds | split; [slot_agrees_holds P | places_hold O]]).
  Qed.

  (** * What the file promises, which `docs/proof.md` says in words *)

  (** What is known of a reachable state, whose fields get names. *)
  Ltac state s R := let A := fresh "A" in destruct (always s R) as (A & _ & _);
    destruct s as [w c v r a p m k d n x q]; unfold agree, will_find, waits_for, owner, fits in A.

  Theorem only_living_memory_is_touched : forall s l s',
    reachable s -> step s l s' -> l <> Private -> alive s = true.
  Proof.
    intros s l s' R S N. state s R.
    destruct S; simpl in *; subst; try destruct c; try destruct v; simpl in *; facts;
      congruence || contradiction.
  Qed.

  Theorem the_result_is_taken_when_it_is_there : forall s s',
    reachable s -> step s Take s' ->
    the_result s = Here /\ the_result s' = Moved /\ the_completer s <> Works.
  Proof.
    intros s s' R S. state s R.
    inversion S; open; subst; try destruct c; facts; try contradiction; repeat split; congruence.
  Qed.

  Theorem the_result_does_not_come_back : forall s l s',
    step s l s' -> the_result s = Moved -> the_result s' = Moved.
  Proof.
    intros s l s' S M. destruct s as [w c v r a p m k d n x q]. simpl in M. subst r.
    destruct S; open; try congruence; destruct w; reflexivity.
  Qed.

  Theorem the_last_side_frees : forall s,
    reachable s -> the_completer s = Finished -> the_waiter s = Gone ->
    alive s = false /\ the_result s <> Here /\ forall i, the_word s <> Waker i.
  Proof. intros s R F G. state s R. simpl in *. subst. exact A. Qed.

  Theorem each_waker_has_one_owner : forall s i,
    reachable s -> places i s = if i <? made s then 1 else 0.
  Proof. intros s i R. apply always, R. Qed.

  Theorem each_waker_is_woken_or_dropped_once : forall s i,
    reachable s -> the_completer s = Finished -> the_waiter s = Gone ->
    to_wake s = [] -> to_drop s = [] -> i < made s ->
    count i (woken s) + count i (dropped s) = 1.
  Proof.
    intros s i R F G K D I. destruct (the_last_side_frees s R F G) as (_ & _ & N).
    assert (P := each_waker_has_one_owner s i R). unfold places in P.
    rewrite G, K, D in P. apply Nat.ltb_lt in I. rewrite I in P.
    destruct (the_word s) as [| j | |]; simpl in P; try lia. destruct (N j eq_refl).
  Qed.

  Theorem a_resting_waiter_is_woken : forall s i,
    reachable s -> the_waiter s = Rests (Some i) ->
    (the_completer s <> Finished /\ the_word s = Waker i) \/
    (the_completer s = Finished /\ (In i (to_wake s) \/ In i (woken s))).
  Proof.
    intros s i R V. state s R. simpl in *. subst v.
    destruct c; facts; auto; [left | left |]; try split; try discriminate; auto.
  Qed.

  Theorem a_waker_in_place_was_copied : forall s i,
    reachable s -> the_word s = Waker i -> placed s = Some i ->
    (forall copy, the_completer s = Looked copy -> copy = Some i) /\
    (forall r copy, the_completer s <> Finished -> the_waiter s = Leaves r copy -> copy = Some i).
  Proof.
    intros s i R W P. destruct (always s R) as (A & (Q & L & V) & _).
    destruct (Q i P) as (_ & _ & one). unfold copy_of, agree, waits_for in *. rewrite P, W in *.
    split; intros *; intros C; [| intros G; rewrite G in *].
    - rewrite C in *. destruct L as (j & in_past & ->). rewrite one in in_past; try easy.
      destruct in_past as [-> | []]. rewrite Nat.eqb_refl. reflexivity.
    - destruct (the_completer s), r; facts; try easy; rewrite Nat.eqb_refl; reflexivity.
  Qed.

  (** The outcomes that the code excludes by `debug_assert` do not occur. *)
  Theorem no_side_acts_twice : forall s, reachable s ->
    (forall e, the_completer s = Works \/ (exists copy, the_completer s = Looked copy) ->
      snd (finish e (the_word s)) <> FinishedTwice) /\
    (forall new r other, the_waiter s = Rests r \/ the_waiter s = Registers r other \/
      (exists copy, the_waiter s = Leaves r copy) ->
      snd (exchange new (the_word s)) <> DetachedBefore).
  Proof.
    intros s R. state s R. split; [intros e H | intros new old i H]; destruct c; try destruct v;
      decompose [or ex] H; facts; simpl in *; facts; try easy;
      repeat match goal with r : option nat |- _ => destruct r end; easy.
  Qed.
End Proof.
