import type { LanguageAbroad } from '../abroad/number-words.ts';
import type { CallFact } from './named-facts.ts';

/** Words by which a sentence of a call is a request, a promise, an action, or the end of a matter. */
type CuesAbroad = {
  /** The customer says why they call. */
  wants: RegExp;
  /** The agent has done something. */
  did: RegExp;
  /** The agent will do something. */
  agentWill: RegExp;
  /** The customer will do something. */
  customerWill: RegExp;
  /** The customer says that the matter is settled. */
  settled: RegExp;
  /** A promise of this kind leaves the matter open. */
  pending: RegExp;
};

/** Texts are compared in small letters without accents. */
export const cuesAbroad: Record<LanguageAbroad, CuesAbroad> = {
  es: {
    wants: /\b(?:queria|quiero|quisiera|necesito|necesitaba|necesitaria|me gustaria|llamo (?:por|para|porque|sobre)|llamaba (?:por|para|porque)|le llamo (?:por|para|porque)|tengo un problema|no me funciona|no funciona|no he recibido|no me ha llegado|me han cobrado|he perdido|se me ha)\b/,
    did: /\b(?:he|hemos|ha quedado|queda|ya esta|le he|se lo he|te he) (?:\p{L}+ )?(?:cambiad|anulad|cancelad|enviad|reembolsad|devuelt|registrad|actualizad|activad|bloquead|reservad|corregid|apuntad|solucionad|modificad|tramitad|pedid|confirmad|mandad|abiert)[oa]s?\b/u,
    agentWill: /\b(?:le|te|les|se lo|se la) (?:llamar|enviar|mandar|devolver|reembolsar|escribir|avisar|confirmar|abonar)(?:e|emos|an|a)\b|\b(?:le|te|les) (?:vamos a|voy a) (?:llamar|enviar|mandar|devolver|reembolsar|escribir|avisar)\b|\b(?:recibira|llegara|pasara) (?:el|la|un|una|en)\b|\bira (?:el|un) tecnico\b/,
    customerWill: /\b(?:(?:les|le|os) (?:llamare|enviare|mandare|escribire|pagare)|(?:les|le) (?:voy a) (?:llamar|enviar|mandar|pagar)|volvere a llamar|lo pagare|hare (?:la transferencia|el pago))\b/,
    settled: /\b(?:ya funciona|eso es todo|era todo|solucionado|perfecto|ya esta arreglado)\b/,
    pending: /llam|tecnico|avis|escrib/,
  },
  fr: {
    wants: /\b(?:je voudrais|j'aimerais|je souhaite|je souhaiterais|j'ai besoin|je veux|j'appelle (?:pour|parce|au sujet|concernant)|je vous appelle (?:pour|parce|au sujet|car)|c'est pour|j'ai un probleme|je n'ai pas recu|ca ne marche pas|ne fonctionne (?:pas|plus)|j'ai ete (?:debite|preleve)e?|j'ai perdu)\b/,
    did: /\b(?:j'ai|nous avons|je viens de|je l'ai|je vous ai) (?:\p{L}+ )?(?:modifi|annul|envoy|rembours|enregistr|activ|bloqu|reserv|corrig|confirm|not|chang|transfer)(?:e|er|ee|es)\b|\bc'est (?:fait|enregistre|annule)\b/u,
    agentWill: /\b(?:je|nous|on) (?:vous|te) (?:rappeller(?:ai|ons|a)|rappelle(?:rons|rai|ra)?|rappelons|enverr(?:ai|ons|a)|envoie|envoyons|rembourser(?:ai|ons|a)|ecrir(?:ai|ons)|confirmer(?:ai|ons)|tiens au courant)\b|\b(?:je|nous|on) (?:vais|allons|va) vous (?:rappeler|envoyer|rembourser|ecrire|confirmer)\b|\bvous (?:recevrez|serez rembourse)e?\b|\bun technicien (?:passera|viendra)\b/,
    customerWill: /\b(?:je vous (?:rappellerai|rappelle|enverrai|envoie|paierai)|je vais vous (?:rappeler|envoyer|payer)|je ferai le virement|je vais payer)\b/,
    settled: /\b(?:ca (?:re)?marche|c'est tout|c'est regle|ce sera tout|parfait)\b/,
    pending: /rappel|technicien|courant|ecri/,
  },
  de: {
    wants: /\b(?:ich (?:mochte|wollte|will|brauche|brauchte|hatte gern)|ich rufe (?:an|wegen|\p{L}+ an)|ich melde mich wegen|es geht um|ich habe ein problem|funktioniert (?:nicht|nicht mehr)|geht nicht|ich habe (?:\p{L}+ ){0,4}(?:nicht bekommen|nicht erhalten|verloren)|mir wurde|wurde (?:\p{L}+ ){0,4}abgebucht)\b/u,
    did: /\b(?:ich habe|wir haben|habe ich)\b.{0,80}\b(?:geandert|storniert|geschickt|gesendet|erstattet|eingetragen|aktualisiert|aktiviert|gesperrt|gebucht|reserviert|korrigiert|notiert|bestatigt|bestellt|uberwiesen|gekundigt|angelegt)\b|\bist (?:jetzt |hiermit )?(?:geandert|storniert|gesperrt|erledigt|gebucht)\b/,
    agentWill: /\b(?:wir|ich) (?:rufen?|melden?|schicken?|senden?|erstatten?|uberweisen?|schreiben?|bestatigen?) (?:sie|ihnen|dich|dir|mich|uns|es ihnen|das)\b|\b(?:wir|ich) (?:werden?) (?:sie|ihnen|dich|dir|uns|mich)\b|\bsie (?:bekommen|erhalten) (?:\p{L}+ ){0,6}(?:bis|am|innerhalb|von uns|per)\b|\bein techniker (?:kommt|wird)\b/u,
    customerWill: /\b(?:ich (?:rufe|melde|schicke|sende|uberweise|zahle) (?:sie|ihnen|mich|das|es|den betrag|noch mal|wieder|dann|morgen)|ich werde (?:sie|ihnen|das|den))\b/,
    settled: /\b(?:jetzt (?:geht|funktioniert|lauft)|das war(?:'s| es| alles)|geht wieder|perfekt|alles klar)\b/,
    pending: /\bruf|meld|techniker|schreib/,
  },
  it: {
    wants: /\b(?:vorrei|volevo|voglio|ho bisogno|avrei bisogno|mi servirebbe|mi serve|chiamo (?:per|perche)|la chiamo (?:per|perche)|ho un problema|non funziona|non ho ricevuto|non mi e arrivat[oa]|mi hanno addebitato|ho perso)\b/,
    did: /\b(?:ho|abbiamo|le ho|gliel'ho|e stat[oa]) (?:\p{L}+ )?(?:cambiat|annullat|cancellat|inviat|mandat|rimborsat|registrat|aggiornat|attivat|bloccat|prenotat|corrett|modificat|confermat|spedit|disdett|apert)[oaei]\b/u,
    agentWill: /\b(?:la|le|ti|gliel[oa]) (?:richiamer(?:o|emo|a)|richiamiamo|chiamer(?:o|emo)|inviamo|invier(?:o|emo)|mander(?:o|emo)|mandiamo|spedir(?:o|emo)|rimborser(?:o|emo)|scriver(?:o|emo)|faremo sapere|confermer(?:o|emo)|contatter(?:o|emo))\b|\bricever(?:a|ai) (?:il|la|un|una|entro)\b|\bun tecnico (?:passera|verra)\b/,
    customerWill: /\b(?:(?:vi|la|le) (?:richiamo|richiamero|mando|mandero|invio|inviero|paghero)|faro (?:il bonifico|il pagamento)|paghero)\b/,
    settled: /\b(?:ora funziona|funziona (?:di nuovo|adesso)|e tutto|risolto|perfetto|a posto)\b/,
    pending: /chiam|tecnico|sapere|contatt|scriv/,
  },
  pt: {
    wants: /\b(?:queria|quero|gostaria|gostava|preciso|precisava|estou a ligar (?:por|para|porque)|estou ligando (?:por|para|porque)|ligo (?:por|para|porque)|liguei (?:por|para|porque)|tenho um problema|nao funciona|nao recebi|fui cobrad[oa]|perdi)\b/,
    did: /\b(?:ja )?(?:alterei|cancelei|anulei|enviei|reembolsei|registei|registrei|atualizei|ativei|bloqueei|reservei|corrigi|confirmei|marquei)\b|\b(?:ja esta|ficou|fica) (?:alterad|cancelad|anulad|registad|registrad|confirmad|marcad)[oa]\b/,
    agentWill: /\b(?:vamos|vou) (?:ligar|enviar|devolver|reembolsar|escrever|avisar|contactar|mandar|confirmar)(?:-lhe)?\b|\b(?:ligaremos|enviaremos|devolveremos|avisaremos)\b|\b(?:vai receber|recebera)\b|\bum tecnico (?:ira|vai|passa)\b/,
    customerWill: /\b(?:(?:eu )?(?:volto a ligar|ligo (?:amanha|depois|na)|envio|pago|faco a transferencia)|vou pagar)\b/,
    settled: /\b(?:ja funciona|e tudo|era so isso|resolvido|perfeito)\b/,
    pending: /lig|tecnico|avis|contact|escrev/,
  },
  nl: {
    wants: /\b(?:ik wil(?:de)?|ik zou graag|ik heb (?:\p{L}+ ){0,3}nodig|ik bel (?:over|omdat|vanwege|voor)|het gaat om|ik heb een probleem|doet het niet|werkt niet|ik heb (?:\p{L}+ ){0,4}(?:niet ontvangen|niet gekregen|verloren)|er is (?:\p{L}+ ){0,4}afgeschreven)\b/u,
    did: /\b(?:ik heb|we hebben|heb ik)\b.{0,80}\b(?:gewijzigd|geannuleerd|verstuurd|gestuurd|terugbetaald|geregistreerd|bijgewerkt|geactiveerd|geblokkeerd|geboekt|gereserveerd|aangepast|bevestigd|besteld|genoteerd|opgezegd)\b|\bis (?:nu )?(?:gewijzigd|geannuleerd|geblokkeerd|geregeld)\b/,
    agentWill: /\b(?:we|wij|ik) (?:bellen|bel|sturen|stuur|mailen|mail|betalen|schrijven|schrijf|zullen|zal|gaan|ga) (?:u|je|het|dat|uw)\b|\bu (?:ontvangt|krijgt)\b|\ber komt een monteur\b|\been monteur komt\b/,
    customerWill: /\b(?:ik (?:bel|stuur|betaal|mail) (?:u|jullie|het|dat|morgen|later|terug)|ik zal (?:u|jullie|het|dat))\b/,
    settled: /\b(?:doet het weer|werkt (?:weer|nu)|dat was het|dat was alles|opgelost|perfect)\b/,
    pending: /\bbel|monteur|schrij|laten weten/,
  },
}; // prettier-ignore

type TellingsAbroad = {
  reason: string;
  done: string;
  agentPromised: string;
  customerPromised: string;
  until: string;
  resolved: string;
  open: string;
  named: string;
  caller: string;
  disposition: string;
  noReason: string;
  nothing: string;
  quotes: readonly [string, string];
  kinds: Record<CallFact['kind'], string>;
};

export const tellingsAbroad: Record<LanguageAbroad, TellingsAbroad> = {
  es: {
    reason: 'Motivo de la llamada', done: 'Hecho por el agente', agentPromised: 'Compromiso del agente', customerPromised: 'Compromiso del cliente', until: 'fecha',
    resolved: 'Resultado: resuelto.', open: 'Resultado: pendiente.', named: 'Datos mencionados', caller: 'Llama', disposition: 'Clasificación', noReason: 'El motivo de la llamada no consta.', nothing: 'No consta nada que resumir.', quotes: ['«', '»'],
    kinds: { name: 'nombre', number: 'número', amount: 'importe', date: 'fecha', time: 'hora', phone: 'teléfono', email: 'correo', address: 'dirección' },
  },
  fr: {
    reason: 'Motif de l’appel', done: 'Fait par l’agent', agentPromised: 'Engagement de l’agent', customerPromised: 'Engagement du client', until: 'date',
    resolved: 'Résultat : résolu.', open: 'Résultat : en suspens.', named: 'Éléments cités', caller: 'Appelant', disposition: 'Classement', noReason: 'Le motif de l’appel n’est pas connu.', nothing: 'Rien à résumer.', quotes: ['« ', ' »'],
    kinds: { name: 'nom', number: 'numéro', amount: 'montant', date: 'date', time: 'heure', phone: 'téléphone', email: 'e-mail', address: 'adresse' },
  },
  de: {
    reason: 'Anliegen', done: 'Vom Agenten erledigt', agentPromised: 'Zusage des Agenten', customerPromised: 'Zusage des Kunden', until: 'Termin',
    resolved: 'Ergebnis: erledigt.', open: 'Ergebnis: offen.', named: 'Genannt wurden', caller: 'Anrufer', disposition: 'Einordnung', noReason: 'Das Anliegen ist nicht bekannt.', nothing: 'Nichts zusammenzufassen.', quotes: ['„', '“'],
    kinds: { name: 'Name', number: 'Nummer', amount: 'Betrag', date: 'Datum', time: 'Uhrzeit', phone: 'Telefon', email: 'E-Mail', address: 'Adresse' },
  },
  it: {
    reason: 'Motivo della chiamata', done: 'Fatto dall’operatore', agentPromised: 'Impegno dell’operatore', customerPromised: 'Impegno del cliente', until: 'data',
    resolved: 'Esito: risolto.', open: 'Esito: in sospeso.', named: 'Dati citati', caller: 'Chiama', disposition: 'Classificazione', noReason: 'Il motivo della chiamata non è noto.', nothing: 'Niente da riassumere.', quotes: ['«', '»'],
    kinds: { name: 'nome', number: 'numero', amount: 'importo', date: 'data', time: 'ora', phone: 'telefono', email: 'e-mail', address: 'indirizzo' },
  },
  pt: {
    reason: 'Motivo da chamada', done: 'Feito pelo agente', agentPromised: 'Compromisso do agente', customerPromised: 'Compromisso do cliente', until: 'data',
    resolved: 'Resultado: resolvido.', open: 'Resultado: pendente.', named: 'Dados referidos', caller: 'Quem liga', disposition: 'Classificação', noReason: 'O motivo da chamada não é conhecido.', nothing: 'Nada a resumir.', quotes: ['«', '»'],
    kinds: { name: 'nome', number: 'número', amount: 'valor', date: 'data', time: 'hora', phone: 'telefone', email: 'e-mail', address: 'morada' },
  },
  nl: {
    reason: 'Reden van het gesprek', done: 'Gedaan door de medewerker', agentPromised: 'Toezegging van de medewerker', customerPromised: 'Toezegging van de klant', until: 'datum',
    resolved: 'Resultaat: opgelost.', open: 'Resultaat: open.', named: 'Genoemd', caller: 'Beller', disposition: 'Indeling', noReason: 'De reden van het gesprek is niet bekend.', nothing: 'Niets om samen te vatten.', quotes: ['‘', '’'],
    kinds: { name: 'naam', number: 'nummer', amount: 'bedrag', date: 'datum', time: 'tijd', phone: 'telefoon', email: 'e-mail', address: 'adres' },
  },
}; // prettier-ignore
