(** What `Task.v` says of the parties of a task, in every state that any number of steps leads to. *)

Require Import NArith Lia Bool Task.
Open Scope N_scope.

Section Proof.
  Variables (quarter ref_limit : N) (had_handle : bool).
  Hypothesis some_wakes : 1 <= quarter.
  Notation limit := (limit quarter).
  Notation step := (step quarter ref_limit had_handle).
  Notation reachable := (reachable quarter ref_limit had_handle).

  Arguments unreachable : simpl never.

  Definition held h := match h with Away => false | _ => true end.

  (** A runnable exists, so the task has wake-ups and has not ended. *)
  Definition runs t := join t <> Completed /\ finished (the_word t) = false /\
    1 <= wakes (the_word t) /\ orphan t = false.

  Definition knows_handle h t :=
    (handle (the_word t) = true -> h = true) /\ (h = true -> had_handle = true).

  (** So many wake-ups, or so many that some were taken back. *)
  Definition at_least n t := n <= wakes (the_word t) \/ limit - 1 <= wakes (the_word t).

  Definition is_idle t := let w := the_word t in
    join t <> Completed /\ finished w = false /\ wakes w = 0 /\ cancelled w = false /\
    panicked w = false /\ owed t = false.

  (** The handle is the finisher, or there is none any more. *)
  Definition is_over t := let w := the_word t in
    1 <= wakes w /\ orphan t = false /\
    if finished w then unreachable w = false /\ the_handle t <> Held
    else join t = Completed /\ the_handle t = Held.

  Definition agree_runner t := let w := the_word t in
    match the_runner t with
    | None_queued => in_poll t = 0 /\ (is_idle t /\ orphan t = unreachable w \/ is_over t)
    | Queued | Cancels => runs t /\ panicked w = false /\ in_poll t = 0
    | Polls seen _ h => runs t /\ panicked w = false /\ knows_handle h t /\ 1 <= seen /\
      at_least seen t /\ (owed t = true \/ cancelled w = true -> at_least (seen + 1) t)
    | Ends h p => runs t /\ panicked w = p /\ knows_handle h t /\ in_poll t = 0
    | Revives => is_idle t /\ unreachable w = true /\ orphan t = false /\ in_poll t = 0
    | Finishes => runs t /\ the_handle t <> Held /\ in_poll t = 0
    end.

  Definition agree t := let w := the_word t in
    if freed t then
      wakers t = 0 /\ busy t = 0 /\ in_poll t = 0 /\ the_handle t = Away /\
      the_runner t = None_queued /\ orphan t = false
    else
      refs w = wakers t + busy t /\ handle w = held (the_handle t) /\
      match join t with
      | Open => the_handle t = Held \/ the_handle t = Away /\ had_handle = false
      | Given_up => the_handle t <> Held
      | Completed => the_handle t = Held \/ the_handle t = Away
      end /\ agree_runner t.

  Lemma reached : forall w, unreachable w = true <-> handle w = false /\ refs w = 0.
  Proof.
    intros w. unfold unreachable. rewrite andb_true_iff, negb_true_iff, N.eqb_eq. tauto.
  Qed.

  (** A step that only changes counters, or lets the handle leave, while others are left. *)
  Lemma others_are_left : forall t t',
    agree t -> freed t = false -> freed t' = false ->
    join t' = join t -> the_runner t' = the_runner t -> orphan t' = orphan t ->
    (the_handle t' = the_handle t \/ the_handle t' = Away /\ exists c, the_handle t = Leaves c) ->
    handle (the_word t') = held (the_handle t') ->
    finished (the_word t') = finished (the_word t) ->
    panicked (the_word t') = panicked (the_word t) ->
    (cancelled (the_word t') = true ->
      cancelled (the_word t) = true \/ wakes (the_word t) < wakes (the_word t')) ->
    refs (the_word t') = wakers t' + busy t' ->
    (unreachable (the_word t') = unreachable (the_word t) \/
      finished (the_word t) = false /\ 1 <= wakes (the_word t)) ->
    (wakes (the_word t) <= wakes (the_word t') \/ limit - 1 <= wakes (the_word t')) ->
    (wakes (the_word t) = 0 -> wakes (the_word t') = 0) ->
    (in_poll t' = in_poll t \/ exists seen w h, the_runner t = Polls seen w h) ->
    (owed t' = owed t \/ wakes (the_word t) < wakes (the_word t')) ->
    agree t'.
  Proof.
    intros t t' A F F' J R O H W Fin P C Refs U Wk Zero I Ow.
    assert (L : 1 <= limit - 1) by (unfold Task.limit; lia).
    unfold agree, agree_runner, is_idle, is_over, runs, knows_handle, at_least in *.
    rewrite F in A. rewrite F', J, R, O, W, Fin, P in *.
    destruct A as (A1 & A2 & A3 & A4). split; [exact Refs | split; [reflexivity | split]].
    - destruct H as [-> | (-> & c & E)]; [exact A3 |]. rewrite E in A3.
      destruct (join t); intuition congruence.
    - assert (K : held (the_handle t') = true -> handle (the_word t) = true).
      { rewrite A2. destruct H as [-> | (-> & _)]; [auto | discriminate]. }
      assert (N : the_handle t <> Held -> the_handle t' <> Held).
      { destruct H as [-> | (-> & _)]; auto; discriminate. }
      assert (S : the_handle t = Held -> the_handle t' = Held).
      { destruct H as [-> | (_ & c & E)]; auto; congruence. }
      assert (Run : join t <> Completed /\ finished (the_word t) = false /\
        1 <= wakes (the_word t) /\ orphan t = false ->
        join t <> Completed /\ finished (the_word t) = false /\
        1 <= wakes (the_word t') /\ orphan t = false) by (intuition lia).
      destruct (the_runner t); try (destruct I as [I | (? & ? & ? & I)];
        [rewrite I | discriminate I]).
      + destruct A4 as (In & [((? & ? & Z & Ca & ? & Owe) & ?) | (? & ? & Fi)]).
        * split; [exact In | left]. repeat split; auto.
          -- destruct (cancelled (the_word t')); auto. destruct C; auto; [congruence | lia].
          -- destruct Ow as [-> | Ow]; auto. lia.
          -- destruct U as [-> | U]; auto. lia.
        * split; [exact In | right]. repeat split; auto; [lia |].
          destruct (finished (the_word t)).
          -- destruct U as [-> | (U & _)]; [| discriminate U]. destruct Fi. auto.
          -- destruct Fi. auto.
      + destruct A4 as (Rn & Rest). exact (conj (Run Rn) Rest).
      + destruct A4 as (Rn & ? & (Kn & ?) & ? & ? & More).
        refine (conj (Run Rn) (conj _ (conj (conj (fun T => Kn (K T)) _) (conj _ (conj _ _)))));
          auto; [lia |].
        intros [T | T].
        * destruct Ow as [Ow | Ow]; [| lia]. rewrite Ow in T. specialize (More (or_introl T)). lia.
        * destruct (C T) as [E | E]; [| lia]. specialize (More (or_intror E)). lia.
      + destruct A4 as ((? & ? & Z & ? & ? & ?) & ? & ? & ?). repeat split; auto.
        * destruct (cancelled (the_word t')); auto. destruct C; auto; [congruence | lia].
        * destruct Ow as [-> | Ow]; auto. lia.
        * destruct U as [-> | U]; auto. lia.
      + destruct A4 as (Rn & Rest). exact (conj (Run Rn) Rest).
      + destruct A4 as (Rn & ? & (Kn & ?) & ?).
        exact (conj (Run Rn) (conj H0 (conj (conj (fun T => Kn (K T)) H1) H2))).
      + destruct A4 as (Rn & ? & ?). exact (conj (Run Rn) (conj (N H0) H1)).
  Qed.

  (** Without wake-ups, and while a party besides the runner is left, there is no runnable. *)
  Lemma no_runnable : forall t, agree t -> freed t = false ->
    wakes (the_word t) = 0 -> unreachable (the_word t) = false ->
    the_runner t = None_queued /\ is_idle t /\ orphan t = false /\ in_poll t = 0.
  Proof.
    intros t A F Z U. unfold agree, agree_runner, is_over, runs in A. rewrite F in A.
    destruct A as (_ & _ & _ & A). destruct (the_runner t); try (exfalso; intuition (congruence || lia)).
    destruct A as (? & [(? & O) | (? & _)]); [| lia]. rewrite U in O. auto.
  Qed.

  (** So the thread whose wake-up is the first one makes the only runnable. *)
  Lemma scheduled : forall t t',
    agree t -> freed t = false -> wakes (the_word t) = 0 -> unreachable (the_word t) = false ->
    freed t' = false -> join t' = join t -> the_runner t' = Queued -> orphan t' = orphan t ->
    (the_handle t' = the_handle t \/ the_handle t' = Away /\ exists c, the_handle t = Leaves c) ->
    handle (the_word t') = held (the_handle t') ->
    finished (the_word t') = finished (the_word t) ->
    panicked (the_word t') = panicked (the_word t) ->
    refs (the_word t') = wakers t' + busy t' -> 1 <= wakes (the_word t') ->
    in_poll t' = in_poll t -> agree t'.
  Proof.
    intros t t' A F Z U F' J R O H W Fin P Refs Wk I.
    destruct (no_runnable t A F Z U) as (_ & (? & ? & _ & _ & ? & _) & ? & ?).
    unfold agree, agree_runner, runs in *. rewrite F in A. rewrite F', J, R, O, W, Fin, P, I.
    destruct A as (_ & _ & A3 & _). repeat split; auto.
    destruct H as [-> | (-> & c & E)]; [exact A3 |]. rewrite E in A3.
    destruct (join t); intuition congruence.
  Qed.

  (** The last party finds a task that has ended, or that no runnable is left for. *)
  Lemma last_one : forall t, agree t -> freed t = false ->
    unreachable (the_word t) = false ->
    finished (the_word t) = true \/ wakes (the_word t) = 0 ->
    the_runner t = None_queued /\ in_poll t = 0 /\ orphan t = false /\
    (finished (the_word t) = false -> is_idle t).
  Proof.
    intros t A F U Z. unfold agree, agree_runner, is_over, runs, is_idle in *. rewrite F, U in A.
    destruct A as (_ & _ & _ & A). destruct (the_runner t); try (exfalso; intuition (congruence || lia)).
    destruct A as (? & [(A & ?) | (? & ? & A)]).
    - refine (conj eq_refl (conj H (conj H0 (fun _ => A)))).
    - refine (conj eq_refl (conj H (conj H1 _))). intros T. rewrite T in *.
      destruct Z; [discriminate | lia].
  Qed.

  Ltac open := unfold follow, owed_is, freed_now, orphan_is, counts, runner_is, holder_is, join_is,
    word_is in *; simpl in *.

  (** Nobody makes a step on a task that is freed: all that could is gone. *)
  Lemma not_freed : forall t l t', agree t -> step t l t' -> freed t = false.
  Proof.
    intros t l t' A S. destruct (freed t) eqn:F; [exfalso | reflexivity].
    unfold agree in A. rewrite F in A. destruct A as (K & B & I & H & R & O).
    destruct S; unfold makes_wakers, has_future in *; rewrite ?R, ?H, ?K, ?B, ?I, ?F in *;
      repeat match goal with H : _ \/ _ |- _ => destruct H end;
      try match goal with H : _ /\ _ |- _ => destruct H end; try discriminate; try lia; congruence.
  Qed.

  Lemma waker_reaches : forall w, 1 <= refs w -> unreachable w = false.
  Proof.
    intros w R. unfold unreachable. destruct (handle w); simpl; auto. apply N.eqb_neq. lia.
  Qed.

  Lemma handle_reaches : forall w, handle w = true -> unreachable w = false.
  Proof. intros w H. unfold unreachable. rewrite H. reflexivity. Qed.

  Ltac left_equal := left; unfold unreachable; simpl;
    try match goal with |- context [negb ?h] => destruct h; simpl; auto end;
    repeat match goal with |- context [?a =? 0] => destruct (N.eqb_spec a 0) end; auto; lia.

  (** What `others_are_left` and `scheduled` ask. *)
  Ltac answers := simpl; auto; try discriminate; try lia; try congruence; try left_equal;
    try (right; split; [reflexivity | lia]); try (left; apply orb_false_r).

  Ltac show_runner := match goal with H : agree_runner _ |- _ =>
    unfold agree_runner, is_idle, is_over, runs, knows_handle, at_least in H; simpl in H end;
    unfold agree, agree_runner, is_idle, is_over, runs, knows_handle, at_least; simpl.

  Ltac parts := unfold may_see in *; simpl in *;
    repeat match goal with H : _ /\ _ |- _ => destruct H end.

  Ltac frame A := unfold follow; simpl; eapply others_are_left; [exact A | answers ..]; eauto.

  Ltac reaches := first [apply handle_reaches; simpl; congruence | apply waker_reaches; simpl; lia].

  (** The last party has left a task that is finished. *)
  Ltac gone A := let P := fresh in assert (P := last_one _ A eq_refl); simpl in P;
    destruct P as (? & ? & ? & _); [reaches | auto |]; subst;
    try match goal with h : holder |- _ => destruct h; try discriminate end;
    repeat split; simpl; auto; lia.

  (** The last party has left a task that nobody runs. *)
  Ltac orphaned A := let P := fresh in assert (P := last_one _ A eq_refl); simpl in P;
    destruct P as (? & ? & ? & P); [reaches | auto |]; specialize (P eq_refl);
    unfold is_idle in P; simpl in P; destruct P as (? & ? & ? & ? & ? & ?); simpl in *; subst;
    repeat split; simpl; auto; try lia; try congruence;
    try match goal with |- match ?j with Open => _ | _ => _ end =>
      destruct j; intuition congruence end;
    left; repeat split; simpl; auto; symmetry; apply reached; simpl; split; auto; lia.

  Ltac last hw rf n f := unfold waker_left, left_alone; simpl;
    destruct hw; simpl; [| destruct (N.eqb_spec rf n) as [One | More]; [destruct f |]]; simpl.

  (** The handle has left. *)
  Ltac detached A rf f wk := unfold handle_left, left_alone; simpl;
    destruct (N.eqb_spec rf 0) as [Zero | More]; [destruct f; simpl;
      [gone A | destruct (N.eqb_spec wk 0); [subst wk; orphaned A | frame A]] | frame A].

  Lemma agree_step : forall t l t', agree t -> step t l t' -> agree t'.
  Proof.
    intros t l t' A S. assert (F := not_freed t l t' A S). assert (A' := A).
    destruct t as [[hw c f p rf wk] j h r k b i o fr ow]. simpl in F. subst fr.
    destruct A' as (Refs & Hold & Join & Run). simpl in *.
    assert (Lim : 3 <= limit - 1) by (unfold Task.limit; lia).
    destruct S; simpl in *; unfold wake_by_value, drop_waker, abort, cancel, detach, may_cancel,
      finish_add, woken, take_back, add_ref, add_wake in *; simpl in *; open.
    - assert (U : unreachable (refs_are (rf + 1) (the_word {| the_word := {| handle := hw;
        cancelled := c; finished := f; panicked := p; refs := rf; wakes := wk |}; join := j;
        the_handle := h; the_runner := r; wakers := k; busy := b; in_poll := i; orphan := o;
        freed := false; owed := ow |})) = unreachable {| handle := hw;
        cancelled := c; finished := f; panicked := p; refs := rf; wakes := wk |} \/
        f = false /\ 1 <= wk).
      { destruct H as [H | [H | H]]; simpl in *.
        - left_equal.
        - left. rewrite !handle_reaches; auto; simpl; rewrite Hold; destruct h; simpl; congruence.
        - right. unfold agree_runner, Task.limit, runs in Run. simpl in Run.
          destruct r; try contradiction; destruct Run as ((? & ? & ? & ?) & _); auto. }
      destruct (N.leb_spec limit wk); open; (eapply others_are_left; [exact A | answers ..]).
    - destruct (N.eqb_spec wk 0) as [-> | Some].
      + destruct (N.leb_spec limit 0); [lia |]. open.
        eapply scheduled; [exact A | answers ..]. apply waker_reaches. simpl. lia.
      + destruct (N.leb_spec limit wk); open; (eapply others_are_left; [exact A | answers ..]).
    - subst r. destruct (N.eqb_spec wk 0) as [-> | Some].
      + exfalso. destruct Run as ((_ & _ & Z & _) & _). simpl in Z. lia.
      + destruct (N.leb_spec limit wk); open; (eapply others_are_left; [exact A | answers ..]); eauto 6.
    - destruct (N.leb_spec limit wk); open; (eapply others_are_left; [exact A | answers ..]).
    - destruct (N.leb_spec limit wk); open; (eapply others_are_left; [exact A | answers ..]);
      right; unfold agree_runner in Run; simpl in Run; destruct r; try (exfalso; intuition lia); eauto 6.
    - destruct (N.eqb_spec wk 0) as [-> | Some].
      + eapply scheduled; [exact A | answers ..]. apply waker_reaches. simpl. lia.
      + last hw rf 1 f; [frame A | gone A | | frame A].
        destruct (N.eqb_spec wk 0); [lia | frame A].
    - last hw rf 1 f; [frame A | gone A | | frame A].
      destruct (N.eqb_spec wk 0) as [-> | Some]; [orphaned A | frame A].
    - destruct c; simpl.
      { rewrite orb_false_r. destruct ow; exact A. }
      destruct (N.eqb_spec wk 0) as [-> | Some].
      + destruct (unreachable _) eqn:U; simpl; open.
        * rewrite orb_false_r. destruct ow; exact A.
        * eapply scheduled; [exact A | answers ..].
      + rewrite andb_false_r. simpl. frame A.
    - show_runner. destruct r; try (exfalso; intuition congruence).
      destruct Run as (-> & [((? & ? & ? & ? & ? & ?) & U) | (? & ? & ?)]); [| congruence].
      rewrite H in U. symmetry in U. apply reached in U. simpl in U. destruct U as (-> & ->).
      destruct h; try discriminate. destruct with_waker; repeat split; simpl; auto; discriminate || lia.
    - subst h j. split; [| split; [| split]]; simpl; auto; [discriminate |].
      unfold agree_runner, is_idle, is_over, runs, knows_handle, at_least in *; simpl in *.
      destruct r, f; intuition congruence.
    - subst h hw. destruct c; simpl; [| destruct (N.eqb_spec wk 0) as [-> | Some]].
      + detached A rf f wk.
      + eapply scheduled; [exact A | answers ..]; eauto.
      + rewrite ?andb_false_r. simpl. detached A rf f wk.
    - subst h hw. detached A rf f wk.
    - subst h j. apply andb_true_iff in H1. destruct H1 as (_ & Z). apply N.eqb_eq in Z. simpl in Z.
      show_runner. destruct r; try (exfalso; intuition congruence).
      destruct Run as (-> & [((? & ?) & ?) | (? & -> & ?)]); [congruence |]. repeat split; simpl; auto; lia.
    - subst h j. show_runner. destruct r; try (exfalso; intuition congruence).
      destruct Run as (-> & [((? & ?) & ?) | (? & -> & ?)]); [congruence |].
      unfold is_last. simpl. rewrite Hold. simpl.
      destruct (N.eqb_spec rf 0) as [-> | Some]; repeat split; simpl; auto; try lia.
      right. repeat split; simpl; auto; [| discriminate]. apply waker_reaches. simpl. lia.
    - subst r. show_runner. parts. repeat split; auto. intros [T | T]; auto.
      apply negb_true_iff, N.eqb_neq in T.
      match goal with H : _ \/ _ |- _ => destruct H; [left; lia | auto] end.
    - destruct H; subst r; show_runner; parts; repeat split; auto.
    - subst r. exact A.
    - subst r. show_runner. parts. repeat split; auto.
    - subst r i. show_runner. destruct Run as ((? & ? & ? & ?) & ? & ? & ? & AtLeast & More).
      set (consumed := seen - (if w then 1 else 0)).
      assert (Most : consumed <= seen) by (unfold consumed; destruct w; lia).
      assert (Lim' : limit = 4 * quarter) by reflexivity.
      unfold idle. destruct (N.eqb_spec consumed 0).
      { simpl. destruct c; repeat split; simpl; auto. }
      destruct (N.leb_spec (2 * quarter) consumed); simpl.
      { repeat split; simpl; auto. lia. }
      destruct c; simpl.
      { specialize (More (or_intror eq_refl)). repeat split; simpl; auto. lia. }
      destruct (N.eqb_spec wk consumed) as [E | E]; simpl.
      2: { repeat split; simpl; auto. lia. }
      assert (ow = false) as ->.
      { destruct ow; auto. specialize (More (or_introl eq_refl)). lia. }
      destruct (unreachable _) eqn:U; repeat split; simpl; auto; try lia.
      left. repeat split; simpl; auto; try lia; unfold unreachable in *; simpl in *; congruence.
    - subst r i. show_runner. parts. repeat split; auto.
    - subst r. show_runner. destruct Run as ((? & ? & ? & ? & ? & ?) & U & ? & ?).
      apply reached in U. simpl in U. destruct U as (-> & ->). repeat split; simpl; auto. discriminate.
    - subst r. show_runner. parts. repeat split; auto.
    - subst r j. show_runner. destruct Run as ((? & ? & ? & ?) & ? & (? & Had) & ?).
      destruct Join as [-> | (_ & No)]; [| specialize (Had eq_refl); congruence].
      repeat split; simpl; auto. right. subst f. repeat split; simpl; auto.
    - subst r j. show_runner. parts. repeat split; auto.
    - subst r. show_runner. destruct Run as (? & ? & (Kn & _) & ?).
      assert (Not : h <> Held) by (intros ->; rewrite Hold in Kn; specialize (Kn eq_refl); discriminate).
      parts. repeat split; auto.
    - subst r. show_runner. destruct Run as ((? & ? & ? & ?) & ? & ?).
      apply andb_true_iff in H0. destruct H0 as (Z & Z'). apply eqb_prop in Z.
      apply N.eqb_eq in Z'. simpl in Z, Z'.
      rewrite Hold in Z. destruct h; try discriminate. repeat split; simpl; auto; lia.
    - subst r. show_runner. destruct Run as ((? & ? & ? & ?) & ? & ?).
      unfold is_last. simpl. destruct (N.eqb_spec rf 0) as [Z | Some]; destruct hw; simpl;
        repeat split; simpl; auto; try lia; try (destruct h; congruence || discriminate);
        right; repeat split; simpl; auto; try (apply handle_reaches; reflexivity);
        apply waker_reaches; simpl; lia.
  Qed.

  Lemma holds : forall t, reachable t -> agree t.
  Proof.
    intros t R. induction R as [| t l t' _ A S]; [| exact (agree_step t l t' A S)].
    unfold agree, agree_runner, runs. simpl. repeat split; simpl; auto; try discriminate; try lia.
    - destruct had_handle; reflexivity.
    - destruct had_handle; auto.
  Qed.

  (** * What the file promises *)

  (** Nobody makes a step on a task that is freed. So it is freed once, and not touched after it. *)
  Theorem a_freed_task_is_not_touched : forall t l t',
    reachable t -> step t l t' -> freed t = false.
  Proof. intros t l t' R. exact (not_freed t l t' (holds t R)). Qed.

  (** A runnable exists exactly while there are wake-ups, until the task has ended. *)
  Theorem a_runnable_exists_while_there_are_wake_ups : forall t,
    reachable t -> freed t = false ->
    join t <> Completed -> finished (the_word t) = false -> the_runner t <> Finishes ->
    (wakes (the_word t) = 0 <-> the_runner t = None_queued \/ the_runner t = Revives).
  Proof.
    intros t R F J E N. assert (A := holds t R). unfold agree in A. rewrite F in A.
    destruct A as (_ & _ & _ & A).
    unfold agree_runner, is_over, is_idle, runs in A. rewrite E in A.
    destruct (the_runner t); split; intros H; auto; try discriminate;
      try (destruct H; discriminate); try (exfalso; intuition (congruence || lia)); intuition.
  Qed.

  (** No wake-up is lost: without a runnable, every wake-up was seen by a run. *)
  Theorem no_wake_up_is_lost : forall t,
    reachable t -> freed t = false ->
    join t <> Completed -> finished (the_word t) = false -> the_runner t = None_queued ->
    owed t = false.
  Proof.
    intros t R F J E N. assert (A := holds t R). unfold agree in A. rewrite F in A.
    destruct A as (_ & _ & _ & A).
    unfold agree_runner, is_over, is_idle in A. rewrite N, E in A. intuition.
  Qed.

  (** Once all parties are gone, the task is freed. *)
  Theorem the_last_party_frees : forall t,
    reachable t -> wakers t = 0 -> busy t = 0 -> the_handle t = Away ->
    the_runner t = None_queued -> orphan t = false -> freed t = true.
  Proof.
    intros t R K B H N O. assert (A := holds t R). unfold agree in A.
    destruct (freed t); auto. exfalso. destruct A as (Refs & Hold & _ & A).
    rewrite K, B in Refs. rewrite H in Hold. simpl in Hold.
    assert (U : unreachable (the_word t) = true) by (apply reached; split; auto; lia).
    unfold agree_runner, is_over, is_idle in A. rewrite N, O, U, H in A.
    destruct (finished (the_word t)); intuition congruence.
  Qed.

  Lemma waker_left_schedules_nothing : forall w, waker_left w <> Schedule.
  Proof.
    intros w. unfold waker_left, left_alone. destruct (_ && _), (finished w), (wakes w =? 0); discriminate.
  Qed.

  Lemma handle_left_schedules_nothing : forall w, handle_left w <> Schedule.
  Proof.
    intros w. unfold handle_left, left_alone. destruct (refs w =? 0), (finished w), (wakes w =? 0); discriminate.
  Qed.

  Lemma schedules : forall w, woken w = Schedule -> wakes w = 0.
  Proof. intros w. unfold woken. destruct (N.eqb_spec (wakes w) 0); auto; discriminate. Qed.

  (** So there is one runnable at most: the wake-up that makes one finds none. *)
  Theorem a_wake_up_that_schedules_finds_no_runnable : forall t t',
    reachable t -> step t Schedule t' -> the_runner t = None_queued.
  Proof.
    intros t t' R S. assert (A := holds t R). assert (F := not_freed t _ t' A S).
    assert (none : wakes (the_word t) = 0 -> unreachable (the_word t) = false ->
      the_runner t = None_queued) by (intros Z U; apply (no_runnable t A F Z U)).
    assert (A' := A). unfold agree in A'. rewrite F in A'. destruct A' as (Refs & Hold & _ & Run).
    remember Schedule as l eqn:L. destruct S; try discriminate L.
    - apply none; [apply schedules, L | apply waker_reaches; lia].
    - exfalso. apply schedules in L. unfold agree_runner, runs in Run. rewrite H in Run. intuition lia.
    - unfold wake_by_value in L. simpl in L. destruct (woken (the_word t)) eqn:W;
        try (destruct (waker_left_schedules_nothing _ L)).
      apply none; [apply schedules, W | apply waker_reaches; lia].
    - destruct (waker_left_schedules_nothing _ L).
    - unfold abort in L. destruct (may_cancel (the_word t)) eqn:M; [| discriminate L].
      apply schedules in L. apply none; auto. unfold may_cancel in M. rewrite L in M.
      destruct (unreachable (the_word t)); auto. rewrite andb_false_r in M. discriminate.
    - unfold cancel in L. destruct (may_cancel (the_word t)).
      + simpl in L. destruct (woken (the_word t)) eqn:W;
          try (destruct (handle_left_schedules_nothing _ L)).
        apply none; [apply schedules, W | apply handle_reaches; rewrite Hold, H; reflexivity].
      + destruct (handle_left_schedules_nothing _ L).
    - destruct (handle_left_schedules_nothing _ L).
    - unfold finish_add in L. simpl in L. destruct (is_last _ _); discriminate.
    - unfold finish_add in L. simpl in L. destruct (is_last _ _); discriminate.
  Qed.

  (** The counters have room: a wake-up beyond the limit is taken back, or given by one of the wakers
      that were counted below theirs. *)
  Definition room t :=
    refs (the_word t) <= ref_limit /\
    wakes (the_word t) + refs (the_word t) <= limit + ref_limit + busy t + in_poll t +
      (if cancelled (the_word t) then 1 else 0).

  Hypothesis some_refs : 1 <= ref_limit.

  Lemma room_step : forall t l t', agree t -> room t -> step t l t' -> room t'.
  Proof.
    intros t l t' A R S. assert (F := not_freed t l t' A S). assert (Refs := A).
    unfold agree in Refs. rewrite F in Refs. destruct Refs as (Refs & _).
    destruct t as [[hw c f p rf wk] j h r k b i o fr ow]. unfold room in *. simpl in *.
    assert (Lim : 4 <= limit) by (unfold Task.limit; lia). destruct R as (R1 & R2).
    destruct c, S; simpl in *; unfold wake_by_value, drop_waker, abort, cancel, detach, may_cancel,
      finish_add, idle, take_back, add_ref, add_wake, revive in *; simpl in *; open;
      repeat (match goal with
        | |- context [limit <=? ?n] => destruct (N.leb_spec limit n)
        | |- context [match ?x with Nothing => _ | _ => _ end] => destruct x
        | |- context [if ?x then _ else _] => destruct x
        end; simpl in *); try lia.
  Qed.

  Theorem the_counters_have_room : forall t, reachable t ->
    refs (the_word t) <= ref_limit /\
    wakes (the_word t) <= limit + ref_limit + busy t + in_poll t + 1.
  Proof.
    intros t R. assert (room t) as (? & ?).
    { induction R as [| t l t' R IH S]; [| exact (room_step t l t' (holds t R) IH S)].
      unfold room, Task.limit. simpl. lia. }
    destruct (cancelled (the_word t)); lia.
  Qed.
End Proof.
