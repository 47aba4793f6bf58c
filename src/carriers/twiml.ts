import {
  answerPauseS,
  element,
  socketUrlOf,
  xmlDocument,
  xmlText,
  type NextStep,
} from './voice-answer.ts';

export type TwimlAnswer = NextStep & {
  carrier: string;
  /** Base address by which the carrier reaches us. */
  publicUrl: string;
  /** A stream token in the address, for carriers whose parameters are not known to arrive. */
  pathToken?: string;
  parameters: Record<string, string | undefined>;
};

/**
 * TwiML and its dialects (cXML, TeXML): a fork of both tracks, and then the call goes on. A fork that fails
 * leaves the call alone.
 */
export function twimlAnswer(answer: TwimlAnswer): string {
  const { carrier, publicUrl, pathToken, parameters } = answer;
  const socket = socketUrlOf(publicUrl, carrier);
  const stream = element(
    'Stream',
    {
      url: pathToken === undefined ? socket : `${socket}/${pathToken}`,
      track: 'both_tracks',
      statusCallback: `${publicUrl}/carriers/${carrier}/status`,
      statusCallbackMethod: 'POST',
    },
    Object.entries(parameters).flatMap(([name, value]) =>
      value ? [element('Parameter', { name, value })] : [],
    ),
  );
  return xmlDocument(element('Response', {}, [element('Start', {}, [stream]), nextVerb(answer)]));
}

function nextVerb({ dial, continueUrl }: NextStep): string {
  if (continueUrl !== undefined)
    return element('Redirect', { method: 'POST' }, [xmlText(continueUrl)]);
  if (dial === undefined) return element('Pause', { length: String(answerPauseS) });
  return element(
    'Dial',
    {},
    dial.startsWith('sip:') ? [element('Sip', {}, [xmlText(dial)])] : [xmlText(dial)],
  );
}
