import { Router } from 'express';
import { storable } from '../../lib/storable.ts';
import { Problem } from '../../port/problem.ts';
import { check } from '../../protocol/validation.ts';
import { WrapUpOrder, type CallWrapUp } from '../../protocol/wrap-up.ts';
import type { WrapUpRefusal, WrapUps } from '../wrap-up/wrap-ups.ts';
import { invalid } from './query.ts';

/** Routes by which people and programs read and edit the record of a call. */
export function wrapUpApi({ wrapUps }: { wrapUps: Pick<WrapUps, 'read' | 'edit'> }): Router {
  const router = Router();

  router.get('/api/calls/:id/wrap-up', async (request, response) => {
    response.json(answered(await wrapUps.read(request.params.id)));
  });

  router.put('/api/calls/:id/wrap-up', async (request, response) => {
    const parsed = check(WrapUpOrder, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    response.json(answered(await wrapUps.edit(request.params.id, storable(parsed.value))));
  });

  return router;
}

function answered(result: CallWrapUp | WrapUpRefusal): CallWrapUp {
  if (!('refused' in result)) return result;
  if (!('why' in result)) {
    if (result.refused === 'unknown') throw new Problem(404, 'call not found');
    throw new Problem(
      409,
      'the call is not over yet: its wrap-up can be edited once it has a summary',
    );
  }
  if (result.refused === 'revision')
    throw new Problem(409, `somebody edited it meanwhile: ${result.why}; read it again`);
  if (result.refused === 'proof' || result.refused === 'disposition') throw invalid([result.why]);
  throw new Problem(503, `the wrap-up could not be made: ${result.why}`);
}
